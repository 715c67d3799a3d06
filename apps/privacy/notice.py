"""What a candidate is told before the microphone opens, in both languages, with a version that consent names.

The words are part of the product's promises: whoever changes them changes VERSION_DATE, and whoever changes
what the product does changes the words.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache

VERSION_DATE = "2026-12-01"


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    points: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Notice:
    """`version` names date, language and the first digits of the text's SHA-256."""

    language: str
    sections: tuple[Section, ...]

    @property
    def version(self) -> str:
        text = "\n".join("\n".join((section.title, *section.points)) for section in self.sections)
        return f"{VERSION_DATE}.{self.language}.{hashlib.sha256(text.encode()).hexdigest()[:12]}"


_EN = (
    Section(
        "What is recorded",
        (
            "The sound of your answers, from the moment the interview page is open until you finish or mute.",
            "The words that were heard or typed, when they were said, and how sure the computer is of each.",
            "No video, no screen, no location.",
        ),
    ),
    Section(
        "Why",
        (
            "To write down what you say, give you feedback right after each answer, and make your report.",
            "It is used for this interview only. It does not train any model.",
        ),
    ),
    Section(
        "What the AI does",
        (
            "Speech recognition turns your answer into text, on a server that this organisation runs or "
            "has chosen.",
            "A set of published rules, and where the organisation has added one, a language model, "
            "scores the text from 0 to 10, names one weakness and asks a follow-up question.",
            "Every score is shown with the words of yours that led to it.",
        ),
    ),
    Section(
        "What is assessed",
        (
            "Five things, from your words alone: whether you answer the question, how the answer is built, "
            "evidence one could check, your own part, and clarity.",
            "Pace and filler words are shown to you apart. They do not count.",
            "Nothing is inferred about emotion, stress, personality, accent or identity. "
            "No voiceprint is made.",
        ),
    ),
    Section(
        "Who sees it, and who decides",
        (
            "You, and the recruiters of the organisation named above. Nobody else.",
            "The AI decides nothing. A person does, and you can ask that person to review any score.",
            "You can type all of your answers instead of speaking. You lose nothing by typing.",
        ),
    ),
    Section(
        "How long it is kept",
        (
            "Until you or the organisation deletes it. Nothing is deleted automatically.",
            "Until the server has an answer whole, your browser keeps an encrypted copy of its sound, so "
            "that a lost connection loses nothing. The key is not kept with it. The copy goes as soon as the "
            "server has the answer; what is left of it goes when you open this site a day later or more.",
            "You can delete the interview at any time, during it too: recording, words, scores and report "
            "are erased at once and cannot be brought back.",
        ),
    ),
)

_ZH = (
    Section(
        "会记录什么",
        (
            "你回答时的声音：从打开面试页面起，到你结束面试或静音为止。",
            "识别出的或你输入的文字，每个词说出的时间，以及识别的把握程度。",
            "不录视频，不录屏幕，不记录位置。",
        ),
    ),
    Section(
        "为什么记录",
        (
            "为了把你说的话转成文字，在每次回答后马上给你反馈，并生成报告。",
            "只用于这一次面试，不用来训练任何模型。",
        ),
    ),
    Section(
        "AI 做什么",
        (
            "语音识别把你的回答转成文字，所用的服务器由本组织运行或选定。",
            "一套公开的规则，以及组织可能接入的语言模型，会给这段文字打 0 到 10 分，"
            "指出一个最值得改进的地方，并追问一个问题。",
            "每个分数都会附上你自己的原话作为依据。",
        ),
    ),
    Section(
        "评估什么",
        (
            "只看你说的内容，共五项：是否切题、结构、可核实的依据、你本人的作用、表达是否清楚。",
            "语速和口头语会单独显示给你看，不计入分数。",
            "不推断情绪、压力、性格、口音或身份，也不生成声纹。",
        ),
    ),
    Section(
        "谁能看到，由谁决定",
        (
            "只有你和上面所写组织的招聘人员能看到。",
            "AI 不做任何决定。决定由人来做，你可以请他们复核任何一个分数。",
            "所有回答都可以打字代替说话，不会因此吃亏。",
        ),
    ),
    Section(
        "保存多久",
        (
            "保存到你或该组织删除为止，不会自动删除。",
            "在服务器完整收到一个回答之前，浏览器会加密保存一份录音，断网时也不会丢失；密钥不和它放在一起。"
            "服务器收到后这份录音立即删除；万一有剩余，一天以后再次打开本站时清除。",
            "你随时可以删除这次面试，面试进行中也可以：录音、文字、分数和报告会立即清除，无法恢复。",
        ),
    ),
)


@cache
def notice_for(language: str) -> Notice:
    """The notice in the language of the page; English where there is none in that language."""
    if language.startswith("zh"):
        return Notice("zh", _ZH)
    return Notice("en", _EN)


def current_versions() -> frozenset[str]:
    """The versions a consent may name today, in any language."""
    return frozenset({notice_for("en").version, notice_for("zh").version})
