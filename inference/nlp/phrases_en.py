"""What the rules say to an English speaker: weaknesses, comments, follow-up questions. Kind, plain, second person.

`{quote}` is the speaker's own words, `{hint}` a measure that fits the answer, `{point}` an expected point.
"""
# ruff: noqa: E501 - patterns and phrases are read entry by entry, not line by line

from __future__ import annotations

# (with a quote, without one); both one sentence.
WEAKNESS: dict[str, tuple[str, str]] = {
    "no_answer": ("", "There is no answer yet: say or type a few sentences, and they will be looked at."),
    "only_orders": (
        "",
        "What you said was meant for the grader, not for the question: answer the question itself with something you did.",
    ),
    "refusal": (
        "",
        "You haven't answered this one yet: even a small example helps, so say what the situation was and what you did.",
    ),
    "wrong_language": (
        "",
        "This interview is in English and your answer is not: please answer again in English, so that it can be read fairly.",
    ),
    "gibberish": (
        "",
        "No sentence came through that could be understood: please say your answer again in plain sentences.",
    ),
    "empty_words": (
        "",
        "Your answer is too short to show anything: add what happened, what you did and what came of it.",
    ),
    "stuffing": (
        "",
        "These are keywords that would fit any answer: choose one occasion and tell what you worked on, and what you did with it, step by step.",
    ),
    "repetition": (
        "You say “{quote}” again and again, but nothing new comes after it: add what you did next and what came of it.",
        "You repeat the same words and nothing new follows: add what you did next and what came of it.",
    ),
    "off_topic": (
        "You talk about “{quote}”, but the question asks about something else: go back to it and name one thing that answers it directly.",
        "Your answer is about something other than the question: go back to it and name one thing that answers it directly.",
    ),
    "buzzwords": (
        "“{quote}” is a slogan without an act behind it: add one thing you did and what changed.",
        "There are many big words here but no act behind them: add one thing you did and what changed.",
    ),
    "no_action": (
        "You mention “{quote}”, but not what you did yourself: pick one occasion and add two or three steps that you took.",
        "You didn't say what you did yourself: pick one occasion and add two or three steps that you took.",
    ),
    "action_only": (
        "You say “{quote}”, but nothing around it: add why it was needed and what came of it.",
        "You name what you did, but nothing around it: add why it was needed and what came of it.",
    ),
    "thin_design": (
        "“{quote}” is one idea, not yet a design: add the parts, where the state lives, and what happens when something fails.",
        "This is one idea, not yet a design: add the parts, where the state lives, and what happens when something fails.",
    ),
    "blame": (
        "“{quote}” tells what others did wrong, but not your own part: add what you tried yourself and what you would do differently.",
        "You tell what others did wrong, but not your own part: add what you tried yourself and what you would do differently.",
    ),
    "yes_no_sentence": (
        "You answer the question (“{quote}”), but leave it at that: add one example, with its size or its length.",
        "You answer the question, but leave it at that: add one example, with its size or its length.",
    ),
    "no_result": (
        "You say what you did (“{quote}”), but you didn't mention a result yet: add one number, such as {hint}.",
        "You say what you did, but you didn't mention a result yet: add one number, such as {hint}.",
    ),
    "no_number": (
        "You name an outcome (“{quote}”), but not its size: add one number, such as {hint}.",
        "You name an outcome, but not its size: add one number, such as {hint}.",
    ),
    "no_situation": (
        "You start with “{quote}”, but the scene is missing: add in one sentence where this was and what was at stake.",
        "The scene is missing: add in one sentence where this was and what was at stake.",
    ),
    "no_task": (
        "The situation and your steps are there (“{quote}”), but not what was asked of you: add your own task or goal in one sentence.",
        "The situation and your steps are there, but not what was asked of you: add your own task or goal in one sentence.",
    ),
    "no_steps": (
        "You came to “{quote}” quickly: add the two or three steps in between, and why you chose them.",
        "Your steps stay in the background: add two or three of them, and why you chose them.",
    ),
    "no_trade_offs": (
        "You describe the parts (“{quote}”), but not what they cost: add one trade-off, and what happens when a part fails.",
        "You describe the parts, but not what they cost: add one trade-off, and what happens when a part fails.",
    ),
    "no_limits": (
        "“{quote}” has no size yet: add the load you expect or a limit you would hold, such as requests a second or a delay.",
        "Your design has no size yet: add the load you expect or a limit you would hold, such as requests a second or a delay.",
    ),
    "no_mechanism": (
        "You say “{quote}”, but not how it works underneath: add the mechanism and one case where it matters.",
        "You name the point, but not how it works underneath: add the mechanism and one case where it matters.",
    ),
    "no_reason": (
        "You say “{quote}”, but not why: add your reason, starting with “because”.",
        "You make a claim, but give no reason for it: add one, starting with “because”.",
    ),
    "no_example": (
        "“{quote}” has no example yet: add one case from your own work where it showed.",
        "There is no example yet: add one case from your own work where it showed.",
    ),
    "generic_motive": (
        "“{quote}” would fit almost any employer: add one thing about this work that matters to you, and why.",
        "Your reasons would fit almost any employer: add one thing about this work that matters to you, and why.",
    ),
    "missing_point": (
        "One point is still open ({point}): add a sentence about it, next to what you said (“{quote}”).",
        "One point is still open ({point}): add a sentence about it.",
    ),
    "misses_point": (
        "What you tell (“{quote}”) comes near the question but doesn't answer it directly: add one sentence that says how it fits.",
        "Your answer comes near the question but doesn't answer it directly: add one sentence that says how it fits.",
    ),
    "bare_fact": (
        "You answer the question (“{quote}”), but only just: add one detail, such as what it was for, since when or how much.",
        "You answer the question, but only just: add one detail, such as what it was for, since when or how much.",
    ),
    "we_only": (
        "You say “{quote}”, so your own part isn't visible: add what you decided or did yourself.",
        "Your own part isn't visible in the “we”: add what you decided or did yourself.",
    ),
    "bare_no": (
        "",
        "A no is a fair answer, but it leaves your side open: add the nearest thing you have done, and how big it was.",
    ),
    "own_part": (
        "Your own part shows only in “{quote}”: add one more thing that you decided yourself, and why.",
        "Your own part shows only in passing: add one more thing that you decided yourself, and why.",
    ),
    "no_outlook": (
        "Your reasons are your own; still missing after “{quote}” is what you would do with it here: add your first step in one sentence.",
        "Your reasons are your own; still missing is what you would do with them here: add your first step in one sentence.",
    ),
    "generic_self": (
        "“{quote}” could be said by almost anybody: add one occasion when it showed, and what you did about it.",
        "This could be said by almost anybody: add one occasion when it showed, and what you did about it.",
    ),
    "no_edge_case": (
        "You explain it well; still missing after “{quote}” is where it stops working or what it costs: add one such case.",
        "You explain it well; still missing is where it stops working or what it costs: add one such case.",
    ),
    "no_growth": (
        "The parts and their cost are there; still missing next to “{quote}” is what would break first at ten times the load: add it in one sentence.",
        "The parts and their cost are there; still missing is what would break first at ten times the load: add it in one sentence.",
    ),
    "fact_outcome": (
        "You answer the question and give its size (“{quote}”), but not what came of it: add one sentence about that.",
        "You answer the question and give its size, but not what came of it: add one sentence about that.",
    ),
    "follow_up_detail": (
        "You answer what was asked (“{quote}”), but nobody could check it yet: add a name, a date or a number.",
        "You answer what was asked, but nobody could check it yet: add a name, a date or a number.",
    ),
    "follow_up_done": (
        "You answer what was asked (“{quote}”): one sentence more on what it taught you would round it off.",
        "You answer what was asked: one sentence more on what it taught you would round it off.",
    ),
    "vague": (
        "“{quote}” could mean many things: say it again with one exact thing, person or number.",
        "Much of this could mean many things: say it again with one exact thing, person or number.",
    ),
    "rambling": (
        "You come back to the same ground several times: say your main point first, then the two facts that carry it.",
        "You come back to the same ground several times: say your main point first, then the two facts that carry it.",
    ),
    "last_step": (
        "Your answer covers the question well; what is still missing after “{quote}” is what you would do differently next time: add it in one sentence.",
        "Your answer covers the question well; what is still missing is what you would do differently next time: add it in one sentence.",
    ),
}

FOLLOW_UP: dict[str, tuple[str, ...]] = {
    "no_answer": ("Would you like to try this question once more, in a sentence or two?",),
    "only_orders": (
        "Let's go back to the question: what is one thing you did that answers it?",
        "Could you answer the question itself, with one example of your own?",
    ),
    "refusal": (
        "Is there a smaller example you could share, perhaps from studies or a side project?",
        "What comes closest to this in your own experience, even if it was a small thing?",
    ),
    "wrong_language": ("Could you give me the same answer in English, please?",),
    "gibberish": ("Sorry, I couldn't follow that: could you say it again in a sentence or two?",),
    "empty_words": (
        "Could you tell me a bit more: what happened, and what did you do?",
        "What is one example that stands behind that?",
    ),
    "stuffing": (
        "What exactly did you work on there, and what did you do with it?",
        "Could you pick one of those words and tell me what you did there?",
    ),
    "repetition": (
        "After “{quote}”, what did you do next?",
        "What happened after that, and what did you do?",
    ),
    "off_topic": (
        "Coming back to the question: what would be one direct answer to it?",
        "How does that relate to what I asked, and what would your answer be?",
    ),
    "buzzwords": (
        "When you say “{quote}”, what is one thing you did that shows it?",
        "What is one thing you did last month that shows this?",
    ),
    "no_action": (
        "You mentioned “{quote}”: what did you do yourself, step by step?",
        "What did you do yourself, step by step?",
        "Can you think of one occasion, and tell me the first thing you did?",
    ),
    "action_only": (
        "You said “{quote}”: why was that needed, and what came of it?",
        "Why was that needed, and what changed afterwards?",
    ),
    "thin_design": (
        "Taking “{quote}” as the start: where would you keep the state, and what happens when that part fails?",
        "What are the main parts, and what happens when one of them fails?",
    ),
    "blame": (
        "What did you try yourself before that, and what would you do differently today?",
        "Looking back at “{quote}”, what was your own part in it?",
    ),
    "yes_no_sentence": (
        "Could you give me one example, and how large or how long it was?",
        "What would be the nearest thing you have done, and how big was it?",
    ),
    "no_result": (
        "You said “{quote}”: what came of it, and how did you measure it?",
        "What changed after “{quote}”, in numbers if you have them?",
        "How did it end, and which number shows that best?",
    ),
    "no_number": (
        "You said “{quote}”: by how much, roughly?",
        "How large was the change you describe as “{quote}”?",
        "Can you put a number on that outcome, even a rough one?",
    ),
    "no_situation": (
        "Before “{quote}”: where was this, and what was at stake?",
        "Where was this, and what was at stake?",
    ),
    "no_task": (
        "When you did this (“{quote}”), what exactly had you been asked to achieve?",
        "What exactly was your own task there?",
    ),
    "no_steps": (
        "How did you get to “{quote}”: what were the two or three steps?",
        "What were the two or three steps in between, and why those?",
    ),
    "no_trade_offs": (
        "What do you give up with “{quote}”, and what happens when it fails?",
        "What is the main trade-off in this design, and what happens when a part fails?",
    ),
    "no_limits": (
        "What load do you expect for “{quote}”, and which limit would you hold?",
        "Which load would you design for, and how would you know that you are near the limit?",
    ),
    "no_mechanism": (
        "You said “{quote}”: how does that work underneath?",
        "How does that work underneath, and when does it matter?",
    ),
    "no_reason": ("You said “{quote}”: why is that so for you?", "What is the reason behind that?"),
    "no_example": (
        "You said “{quote}”: when did that last show in your work?",
        "When did that last show in your work?",
    ),
    "generic_motive": (
        "Beyond “{quote}”, which part of this work matters to you, and why?",
        "Which part of this work would you miss most elsewhere, and why?",
    ),
    "missing_point": (
        "There is one more point I would like to hear about ({point}): what would you say to it?",
        "Could you add a sentence or two on one more point: {point}?",
    ),
    "misses_point": (
        "You said “{quote}”: how does that answer the question I asked?",
        "How does this bear on the question, in one sentence?",
    ),
    "bare_fact": (
        "You said “{quote}”: what was it for, and since when or how much?",
        "Can you add one detail, such as what it was for, since when or how much?",
    ),
    "we_only": (
        "You said “{quote}”: which part of that was yours?",
        "In that “we”, what did you decide or do yourself?",
    ),
    "bare_no": ("What is the nearest thing you have done, and how big was it?", "What comes closest to it?"),
    "own_part": (
        "Around “{quote}”, what did you decide yourself, and why?",
        "What did you decide yourself there, and why?",
    ),
    "no_outlook": (
        "After “{quote}”, what would be your first step here?",
        "What would be your first step here, and why?",
    ),
    "generic_self": (
        "You said “{quote}”: when did that last show, and what did you do about it?",
        "When did that last show, and what did you do about it?",
    ),
    "no_edge_case": (
        "In which case would “{quote}” not hold, or cost too much?",
        "In which case would this not hold, or cost too much?",
    ),
    "no_growth": (
        "With “{quote}”, what would break first at ten times the load?",
        "What would break first at ten times the load, and how would you notice?",
    ),
    "fact_outcome": ("You said “{quote}”: what came of it?", "What came of it, in one sentence?"),
    "follow_up_detail": (
        "You said “{quote}”: can you add a name, a date or a number to it?",
        "Can you add a name, a date or a number to that?",
    ),
    "follow_up_done": ("What did that teach you?", "What do you take from that for the next time?"),
    "vague": ("When you say “{quote}”, what exactly do you mean?", "Can you give me one exact case of that?"),
    "rambling": (
        "If you had to say it in two sentences, what was the point and what shows it?",
        "What was the single most important step in all of this?",
    ),
    "last_step": (
        "Looking back at “{quote}”, what would you do differently next time?",
        "What would you do differently next time, and why?",
    ),
}

COMMENT: dict[str, str] = {
    "none": "There is not enough here yet to say.",
    "unweighed": "This does not count for a question of this kind.",
    "evidence.fact.mid": "This answers it; one detail more would make it certain.",
    "relevance.low": "This doesn't speak to the question yet; begin with one sentence that answers it.",
    "relevance.mid": "You touch the question; a sentence that answers it directly would make it land.",
    "relevance.high": "You answer the question that was asked.",
    "relevance.missing": "You touch the question; still open: {points}.",
    "structure.low": "The parts don't hang together yet: say where it was, what you did, and what came of it.",
    "structure.mid": "The order can be followed; one part is still thin.",
    "structure.high": "All parts are there and in an order that can be followed.",
    "structure.star": "There: {present}. Still missing: {missing}.",
    "structure.design.low": "Name the parts of your solution one after the other: goal, parts, trade-offs.",
    "structure.design.mid": "The parts are there; the trade-offs and failures deserve a sentence each.",
    "structure.design.high": "Goal, parts and trade-offs are all there.",
    "structure.focus.low": "Answer in one plain sentence first, then say what it rests on.",
    "structure.focus.mid": "What was asked is there; a reason or an example would carry it.",
    "structure.focus.high": "You say what was asked, and what it rests on.",
    "ownership.focus.mid": "This can stand as it is; where you decided something yourself, say so.",
    "structure.claim.low": "Say your point, then the reason, then an example.",
    "structure.claim.mid": "Your point is there; give it a reason and an example.",
    "structure.claim.high": "Point, reason and example are all there.",
    "evidence.low": "There is nothing here yet that one could check: a name, a date or a number would help.",
    "evidence.mid": "You name what you did; an outcome with its number would make it certain.",
    "evidence.high": "This can be checked: it has a size or an outcome.",
    "evidence.technical.mid": "You name mechanisms; a limit, a figure or a failure case would make it certain.",
    "evidence.technical.high": "The mechanisms and limits you name can be checked.",
    "evidence.motive.mid": "There is something of your own here; one fact from your work would make it certain.",
    "ownership.low": "Your own part isn't visible yet: say what you decided and did.",
    "ownership.mid": "Your role can be guessed; say more plainly what you did yourself.",
    "ownership.high": "It is clear what you decided and did.",
    "clarity.low": "This is hard to follow: shorter sentences with one fact each would help.",
    "clarity.mid": "This can be understood with some effort; leave out what carries nothing.",
    "clarity.high": "Plain and in order.",
}
# To who answers in English where the interview is in Chinese; said after the same in Chinese.
FOR_THE_OTHER_LANGUAGE = {
    "weakness": "This interview is in Chinese and your answer is in English: please answer again in Chinese, so that it can be read fairly.",
    "follow_up": "Could you give me the same answer in Chinese, please?",
}
STAR_WORD = {
    "situation": "the situation",
    "task": "your task",
    "action": "what you did",
    "result": "the result",
}
JOIN, LIST_END = ", ", " and "
NOTHING = "nothing yet"

# (words in the answer, what to measure); the first that fits wins.
HINTS: tuple[tuple[str, str], ...] = (
    (
        r"latenc|slow|fast|speed|time ?out|timing out|quer|index|search|cache|performance",
        "how far the waiting time fell",
    ),
    (
        r"bug|crash|error|fail|incident|outage|alert|pages?\b|broke",
        "how many failures there were before and after",
    ),
    (
        r"customer|guest|client|user|patient|student|complain",
        "how many people it helped or how the complaints changed",
    ),
    (r"sale|revenue|cost|budget|price|money", "how much money it saved or brought in"),
    (
        r"team|colleague|manager|people|hire|meeting|disagree|conflict",
        "how many days it took until the matter was settled",
    ),
    (r"deadline|launch|release|ship|week|date", "how many days early or late it was done"),
    (r"process|manual|script|automat|report", "how many hours a week it saves"),
)
DEFAULT_HINT = "how much changed, from what to what"
