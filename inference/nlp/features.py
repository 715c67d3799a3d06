"""Everything the rules read in one answer, gathered once and shared by dimensions, caps and texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from inference.assessment import Answer, Language, QuestionKind, StarName, StarPart
from inference.nlp import lexicon_en as en
from inference.nlp import lexicon_zh as zh
from inference.nlp.clauses import clauses_of
from inference.nlp.fluency import filler_spans, without_fillers
from inference.nlp.folding import Folded, fold
from inference.nlp.injection import orders_in
from inference.nlp.quantification import quantities_in
from inference.nlp.question import PLANS_COUNT, Form, kind_and_form
from inference.nlp.reading import Mark, read, word_count
from inference.nlp.relevance import Relevance, relevance_of
from inference.nlp.soup import is_label
from inference.nlp.star import ABSENT, star_of
from inference.nlp.stems import content_stems
from inference.nlp.substance import Substance, substance_of

# Some ten minutes of speech, in whichever unit runs out first; what follows is not read, and a note says so.
MAX_CHARS = 8_000
MAX_WORDS = 2_000  # two Chinese characters to a word
_UNIT = re.compile(r"[a-z]+|\d+|[\u3400-\u9fff]{1,2}")
_LEFT_AFTER_ORDER_WORDS = 4


@dataclass(frozen=True, slots=True)
class Features:
    """`richness` counts distinct content words: what is left of an answer without its glue."""

    folded: Folded
    question: str
    language: Language
    kind: QuestionKind
    form: Form
    marks: tuple[Mark, ...]
    star: dict[StarName, StarPart]
    substance: Substance
    relevance: Relevance
    quantified: tuple[str, ...]
    fillers: int
    richness: int
    ordered: bool
    only_orders: bool
    read_chars: int
    cut_short: bool

    def quote(self, mark: Mark) -> str:
        return quote_of(self.folded, mark)

    @property
    def acts(self) -> tuple[Mark, ...]:
        """Acts that count for this form of question: plans count where plans or habits were asked for."""
        planned_too = self.form in PLANS_COUNT
        return tuple(mark for mark in self.marks if mark.act and (planned_too or not mark.planned))

    @property
    def sentences(self) -> int:
        """Sentences, or what would be sentences had the recogniser heard full stops."""
        full_stops = self.marks[-1].clause.sentence + 1 if self.marks else 0
        return max(full_stops, self.substance.words // 28)

    @property
    def sound(self) -> bool:
        return self.substance.sound and not self.only_orders and not self.relevance.off_topic


_LEADING = re.compile(
    r"^(?:(?:and|but|so(?! that)|because|then|also)\s+)+(?=\S)"
    r"|^(?:因为|然后|并且|而且|所以|但是|不过|因此|于是|还有|接着)[，,]?(?=\S)",
    re.IGNORECASE,
)


def quote_of(folded: Folded, mark: Mark) -> str:
    """The clause in the speaker's own words, without the "and" that tied it to the one before."""
    quote = folded.quote(mark.clause.start, mark.clause.end)
    return quote[match.end() :] if (match := _LEADING.match(quote)) else quote


def features_of(answer: Answer) -> Features:
    question = answer.question
    kind, form = kind_and_form(question)
    whole = _read_part(answer.text)
    orders = orders_in(whole)
    kept = whole.without(orders, "\n") if orders else whole
    fillers = filler_spans(kept, question.language)
    clean = without_fillers(kept, fillers) if fillers else kept
    marks = read(tuple(clause for clause in clauses_of(clean) if not is_label(clause.text)))
    only_orders = bool(orders) and word_count(clean.text) <= _LEFT_AFTER_ORDER_WORDS
    substance = substance_of(clean.text, marks, form, question.language)
    told = any(mark.act and not mark.vague and not mark.buzz for mark in marks)
    relevance = relevance_of(question, clean.text, form, told)
    judged = substance.sound and not only_orders and not relevance.off_topic
    return Features(
        folded=clean,
        question=fold(question.text[:600]).text,
        language=question.language,
        kind=kind,
        form=form,
        marks=marks,
        star=star_of(clean, marks, form) if judged else ABSENT,
        substance=substance,
        relevance=relevance,
        quantified=_quantified(clean, marks, form) if judged else (),
        fillers=len(fillers),
        richness=len(content_stems(" ".join(mark.clause.text for mark in marks if not mark.vague))),
        ordered=bool(orders),
        only_orders=only_orders,
        read_chars=whole.origin[-1] + 1 if whole.origin else 0,
        cut_short=_is_cut_short(answer.text, whole),
    )


def _is_cut_short(text: str, read_part: Folded) -> bool:
    end = read_part.origin[-1] + 1 if read_part.origin else 0
    return any(char.isalnum() for char in text[end:])


def _read_part(text: str) -> Folded:
    """As much as is read of a text, however many words its characters make."""
    whole = fold(text[:MAX_CHARS]).first(MAX_CHARS)
    beyond = next(islice(_UNIT.finditer(whole.text), MAX_WORDS, None), None)
    return whole.first(beyond.start()) if beyond else whole


def _quantified(folded: Folded, marks: tuple[Mark, ...], form: Form) -> tuple[str, ...]:
    """Outcomes one could check, each in its context; team sizes and dates are none."""
    quotes = [_outcome_quote(folded, mark) for mark in marks if verifiable(mark, form)]
    return tuple(dict.fromkeys(quote for quote in quotes if quote))


_LONG_CLAUSE_CHARS = 90
_CONTEXT_CHARS = 48


def _outcome_quote(folded: Folded, mark: Mark) -> str:
    """The clause, or of a long one (speech without punctuation) the words around its numbers."""
    clause = mark.clause
    spans = quantities_in(clause.text)
    if len(clause.text) <= _LONG_CLAUSE_CHARS or not spans:
        return quote_of(folded, mark)
    first = max(
        0, clause.text.find(" ", max(0, spans[0][0] - _CONTEXT_CHARS)) if spans[0][0] > _CONTEXT_CHARS else 0
    )
    last = clause.text.find(" ", spans[-1][1] + _CONTEXT_CHARS // 3)
    end = clause.end if last < 0 else clause.start + last
    return folded.quote(clause.start + min(first, spans[0][0]), end)


def verifiable(mark: Mark, form: Form) -> bool:
    """Whether the clause holds an outcome, or for plans and facts a size, that one could check."""
    if form in ("fact", "yes_no", "follow_up") and mark.lasting:
        return True
    if form == "explain":
        return mark.measured and mark.moved
    if form not in ("story", "career", "approach"):
        return mark.measured or (mark.proof and mark.outcome)
    if mark.outcome:
        return mark.measured or mark.proof
    return mark.act and not mark.planned and mark.measured and (mark.moved or form == "career")


def found(features: Features, name: str) -> list[Mark]:
    """Clauses matching the named pattern of the two lexicons (REASON, EXAMPLE …)."""
    english, chinese = getattr(en, name), getattr(zh, name)
    return [mark for mark in features.marks if _either(english, chinese, mark.clause.text)]


def _either(english: re.Pattern[str], chinese: re.Pattern[str], text: str) -> bool:
    return bool(english.search(text) or (not text.isascii() and chinese.search(text)))
