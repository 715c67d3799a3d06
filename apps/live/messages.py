"""Text messages of the live socket, both ways, as closed unions. Events of a turn are inference.events."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from apps.live.close_codes import CloseCode, Refused
from apps.live.frames import MAX_MESSAGE_BYTES
from inference.audio import MissingWhy
from inference.events import Mode

SUBPROTOCOL = "interview.v1"
MAX_GAP_FRAMES = 36_000  # an hour of 100 ms frames
MAX_TEXT_CHARS = 12_000  # a typed answer; in UTF-8 it stays inside one 64 KiB message


def _storable(text: str) -> str:
    """Text that a database and UTF-8 can hold: no NUL, no half of a surrogate pair."""
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("characters that cannot be stored")
    return text


Storable = Annotated[str, AfterValidator(_storable)]


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _FromPage(_Message):
    """The page may send fields that this server does not know yet."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class Hello(_FromPage):
    """Always first, with either a `ticket` or the `resume` token of the last welcome.

    `epoch` is the one the page's kept frames of `answer` belong to, if it has any. It still holds the
    frames `have_from` to `have_to` (exclusive); `events_from` is the last `eid` it shows. `rate` is that of
    its frames, 16 kHz where it says nothing.
    """

    type: Literal["hello"]
    ticket: str = Field(default="", max_length=200)
    resume: str = Field(default="", max_length=200)
    answer: int = Field(default=0, ge=0)
    have_from: int = Field(default=0, ge=0)
    have_to: int = Field(default=0, ge=0)
    epoch: str | None = Field(default=None, max_length=64)
    gen: int | None = None
    events_from: int = Field(default=0, ge=0)
    rate: int | None = None

    @model_validator(mode="after")
    def _one_way_in(self) -> Hello:
        if bool(self.ticket) == bool(self.resume):
            raise ValueError("either a ticket or a resume token")
        return self


class _OfAnswer(_FromPage):
    answer: int = Field(ge=1)


class End(_OfAnswer):
    """No more frames of `answer` after `last_seq` (-1: there were none).

    `sha256` is over all PCM payload bytes in order, empty when the page no longer has them all.
    """

    type: Literal["end"]
    last_seq: int = Field(ge=-1)
    sha256: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")


class Gap(_OfAnswer):
    """Frames `from` to `to` (exclusive) are lost on the page: the only way to skip a seq."""

    type: Literal["gap"]
    from_: int = Field(alias="from", ge=0)
    to: int
    why: MissingWhy

    @model_validator(mode="after")
    def _bounded(self) -> Gap:
        if not 0 < self.to - self.from_ <= MAX_GAP_FRAMES:
            raise ValueError("no such run of frames")
        return self


class Skip(_OfAnswer):
    type: Literal["skip"]


class Thinking(_OfAnswer):
    type: Literal["thinking"]


class Here(_OfAnswer):
    """Somebody is there, to `turn.silent`: the silence is counted anew."""

    type: Literal["here"]


class GoOn(_FromPage):
    """Somebody is there again, to `session.paused`: the next question may be put."""

    type: Literal["go_on"]


class TextAnswer(_OfAnswer):
    type: Literal["text_answer"]
    text: Storable = Field(min_length=1, max_length=MAX_TEXT_CHARS)


class Input(_FromPage):
    type: Literal["input"]
    mode: Literal["voice", "hold", "text"]


class Finish(_FromPage):
    """The candidate ends the interview; an answer that holds speech is finished first."""

    type: Literal["finish"]


class PageHeartbeat(_FromPage):
    """`n` is the server's heartbeat that it answers, so that the server knows the round trip."""

    type: Literal["heartbeat"]
    n: int | None = None


FromPage = Annotated[
    Hello | End | Gap | Skip | Thinking | Here | GoOn | TextAnswer | Input | Finish | PageHeartbeat,
    Field(discriminator="type"),
]
_FROM_PAGE: TypeAdapter[FromPage] = TypeAdapter(FromPage)


def parse_message(text: str) -> FromPage:
    """Read one message of the page. Raises Refused; the reason names fields, never their content."""
    nbytes = len(text.encode(errors="surrogatepass"))
    if nbytes > MAX_MESSAGE_BYTES:
        raise Refused(CloseCode.TOO_LONG, f"message of {nbytes} bytes")
    try:
        return _FROM_PAGE.validate_json(text)
    except ValidationError as exc:
        fields = sorted({".".join(str(part) for part in error["loc"])[:60] for error in exc.errors()})
        raise Refused(
            CloseCode.BAD_FRAME, f"message not understood: {', '.join(fields) or 'no JSON'}"
        ) from None
    except (UnicodeError, RecursionError):
        raise Refused(CloseCode.BAD_FRAME, "message is no text") from None


class OpenTurn(_Message):
    """The question on the table, for a reloaded page. `elapsed_s` counts audio since speech began."""

    turn: int
    text: str
    number: int
    total: int
    kind: Literal["main", "follow_up"]
    limit_s: float
    elapsed_s: float


class Snapshot(_Message):
    status: Literal["live", "finished"]
    mode: Mode
    turn: OpenTurn | None


class LateAnswer(_Message):
    """A closed answer whose audio is not all here: its frames may still be sent, from `next` on."""

    answer: int
    epoch: str
    next: int
    window: int


class Welcome(_Message):
    """`next` is the seq the server waits for: every frame before it is kept, in the spool named `epoch`.

    `buffer_key` (32 bytes, base64url) encrypts what the page keeps on its device; `resume_token` opens the
    next socket. `server_time` is in ms since 1970, for people.
    """

    type: Literal["welcome"] = "welcome"
    epoch: str
    gen: int
    answer: int
    next: int
    window: int
    frame_ms: int
    hb_ms: int
    idle_ms: int
    max_answer_s: int
    resume_token: str = ""
    buffer_key: str = ""
    server_time: int = 0
    late: tuple[LateAnswer, ...] = ()
    snapshot: Snapshot


class Ack(_Message):
    """Frames up to and including `upto` are on disk (-1: none); as many as `window` may follow `upto`."""

    type: Literal["ack"] = "ack"
    answer: int
    upto: int
    window: int


class Nack(_Message):
    """Send again from seq `from`; what came after the hole was not stored."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, serialize_by_alias=True)

    type: Literal["nack"] = "nack"
    answer: int
    from_: int = Field(serialization_alias="from")


class Committed(_Message):
    """The answer and its recording are kept for good; the page may forget its copy."""

    type: Literal["committed"] = "committed"
    answer: int
    sha256: str


class ServerHeartbeat(_Message):
    type: Literal["heartbeat"] = "heartbeat"
    n: int = 0


class Drain(_Message):
    """The server restarts: come back at a random moment within `spread_ms`."""

    type: Literal["drain"] = "drain"
    spread_ms: int


class Reload(_Message):
    """The page shows events that the server does not have: it must begin from what the server has."""

    type: Literal["reload"] = "reload"


ToPage = Welcome | Ack | Nack | Committed | ServerHeartbeat | Drain | Reload
