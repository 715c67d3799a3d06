"""I1 to I6 of the fault list, looked at after every scenario. Each finding is one line.

`kept_findings` and `spool_records` read files by the written format, not with the server's own code.
"""

from __future__ import annotations

import re
import struct
import wave
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from apps.interviews.models import Interview, Turn
from apps.ops.models import Job
from tests.faults import bystanders
from tests.faults.client import LivePage
from tests.faults.kept_answer import FRAME_SAMPLES, NOT_MINE
from tests.faults.lab import Lab
from tests.faults.site import Site

RECORD = struct.Struct(">BBHIQQII")
GAP = struct.Struct(">QI")
FILE_HEADER_BYTES = 32
FRAME_BYTES = FRAME_SAMPLES * 2
STATE_WITHIN_S = 10.0
OWN_WORDS = range(4_000, 5_000)
TRACEBACK = re.compile(r"Traceback \(most recent call last\)|^\s+File \".*\", line \d+, in ", re.MULTILINE)


async def findings(lab: Lab) -> list[str]:
    """Everything that does not hold, as lines that begin with the invariant's name."""
    found = [f"page: {complaint}" for page in lab.pages for complaint in page.complaints]
    for site in lab.sites:
        found += await lab.rows(lambda site=site: rows_findings(site, lab.pages))  # type: ignore[misc]
        found += log_findings(site)
        changed = await lab.rows(lambda site=site: bystanders.changes(lab.spared, site.folder))  # type: ignore[misc]
        found += [f"I6 somebody else's {name} changed" for name in changed]
    found += [line for page in lab.pages for line in state_findings(page, lab.within(STATE_WITHIN_S))]
    return [*found, *trace_findings(lab), *close_findings(lab)]


def rows_findings(site: Site, pages: Sequence[LivePage]) -> list[str]:
    """I1 and I2, from rows and files."""
    found: list[str] = []
    by_interview: dict[str, list[LivePage]] = defaultdict(list)
    for page in pages:
        by_interview[page.visitor.interview].append(page)
    for public_id, theirs in by_interview.items():
        interview = Interview.objects.filter(public_id=public_id).first()
        if interview is None:
            found.append("I1 an interview is gone")
            continue
        turns = {turn.number: turn for turn in interview.turns.all()}
        for number in sorted({number for page in theirs for number in page.answers}):
            stored = _stored(site, interview, turns.get(number), number)
            found += [f"I1 {line}" for line in kept_findings(number, stored, theirs)]
        found += [f"I2 {line}" for line in _verdict_findings(interview, list(turns.values()))]
    return found


def _stored(site: Site, interview: Interview, turn: Turn | None, number: int) -> dict[int, bytes]:
    """Payload by seq, as far as the server has it: from the recording, and from a spool that still stands."""
    stored: dict[int, bytes] = {}
    for spool in (site.folder / "spool" / interview.public_id.hex).glob(f"{number:04d}.spool"):
        stored |= dict(spool_records(spool.read_bytes(), number))
    if turn is not None and turn.audio_path and not stored:
        gaps = [seq for seq, payload in _gaps_of(turn)]
        stored = dict(_cut(_wav(site.folder / "media" / turn.audio_path), set(gaps)))
    return stored


def _gaps_of(turn: Turn) -> list[tuple[int, bytes]]:
    """Rows tell where audio is missing in seconds; the seqs follow from 100 ms frames."""
    found, skipped = [], 0
    for hole in sorted(turn.missing, key=lambda one: one["at_s"]):
        first, count = round(hole["at_s"] * 10) + skipped, round(hole["seconds"] * 10)
        found += [(seq, b"") for seq in range(first, first + count)]
        skipped += count
    return found


def spool_records(content: bytes, answer: int) -> Iterator[tuple[int, bytes]]:
    """(seq, payload) of each whole record in order. A record out of order raises AssertionError."""
    at, following = FILE_HEADER_BYTES, 0
    while at + RECORD.size <= len(content):
        _, kind, _, owner, seq, _, nbytes, crc = RECORD.unpack_from(content, at)
        header, payload = (
            content[at : at + RECORD.size],
            content[at + RECORD.size : at + RECORD.size + nbytes],
        )
        if len(payload) < nbytes or crc != zlib.crc32(payload, zlib.crc32(header[:-4] + bytes(4))):
            return  # the tail of a write that was cut short
        assert (owner, seq) == (answer, following), (
            f"spool of {answer}: {owner}/{seq} where {following} is due"
        )
        if kind == 1:
            yield seq, payload
        following = seq + 1 if kind == 1 else GAP.unpack_from(payload)[0]
        at += RECORD.size + nbytes


def kept_findings(number: int, stored: dict[int, bytes], pages: Sequence[LivePage]) -> list[str]:
    """What the pages of one interview were promised, against what is there."""
    found = []
    for page in pages:
        kept = page.answers.get(number)
        mine = [] if kept is None else kept.frames[: kept.acked + 1]
        for seq, raw in enumerate(mine):
            if raw == NOT_MINE or not (kept and kept.holds(seq)):
                continue
            if seq not in stored:
                found.append(f"answer {number}: frame {seq} was acknowledged and is lost")
            elif stored[seq] != raw[RECORD.size :]:
                found.append(f"answer {number}: frame {seq} is not what was sent")
    for seq, payload in stored.items():
        sent = [page.answers[number].frames[seq : seq + 1] for page in pages if number in page.answers]
        if not any(raw and raw[0][RECORD.size :] == payload for raw in sent):
            found.append(f"answer {number}: nobody sent what is kept as frame {seq}")
    return found[:5]


def _verdict_findings(interview: Interview, turns: Sequence[Turn]) -> list[str]:
    found = []
    for turn in turns:
        live = turn.scores.filter(stage="live").count()
        due = {Turn.Status.ANSWERED: 1}.get(Turn.Status(turn.status), 0)
        if live != due:
            found.append(f"answer {turn.number} is {turn.status} and has {live} scores")
        if turn.status != Turn.Status.OPEN and not turn.end_reason:
            found.append(f"answer {turn.number} ended without a reason")
        if turn.status == Turn.Status.ANSWERED and not turn.transcript:
            found.append(f"answer {turn.number} has a score and no transcript")
    orders = Job.objects.filter(kind="analyse_interview", subject_id=interview.pk).count()
    if orders != (interview.status == Interview.Status.FINISHED):
        found.append(f"the interview is {interview.status} and has {orders} analysis jobs")
    return found


def state_findings(page: LivePage, within_s: float) -> list[str]:
    """I3: each try to get in came to something in time. A page's own patience is 10 s."""
    slow = [attempt for attempt in page.attempts if attempt.took_s > within_s]
    return [f"I3 a page saw nothing for {attempt.took_s:.1f} s" for attempt in slow[:1]]


def trace_findings(lab: Lab) -> list[str]:
    """I4: the fallbacks that the scenario named."""
    logs = lab.logs()
    return [f"I4 no trace of {pattern!r}" for pattern in lab.traces if not re.search(pattern, logs)]


def close_findings(lab: Lab) -> list[str]:
    """I4: every close code of ours that a page was given stands in the log with its reason."""
    logs = lab.logs()
    codes = {code for page in lab.pages for code in page.closes if code in OWN_WORDS}
    return [f"I4 closed with {code}, and no log line" for code in sorted(codes) if f"with {code}" not in logs]


def log_findings(site: Site) -> list[str]:
    """I5: no page of ours fails with 5xx (503 says when to come back), and nothing leaves a stack trace."""
    found = [
        f"I5 HTTP {reply.status}"
        for reply in site.replies
        if reply.status >= 500 and not (reply.status == 503 and "retry-after" in reply.headers)
    ]
    found += ["I5 a stack trace in an answer" for reply in site.replies if TRACEBACK.search(reply.body)]
    traces = _around(site.logs(), TRACEBACK)
    return [*found, *(f"I5 a stack trace in a log: {line}" for line in traces[:1])]


def _around(text: str, pattern: re.Pattern[str]) -> list[str]:
    return [text[max(0, hit.start() - 200) : hit.end() + 600] for hit in pattern.finditer(text)]


def _wav(path: Path) -> bytes:
    with wave.open(str(path)) as wav:
        return bytes(wav.readframes(wav.getnframes()))


def _cut(pcm: bytes, skipped: set[int]) -> Iterator[tuple[int, bytes]]:
    seq = 0
    for at in range(0, len(pcm), FRAME_BYTES):
        while seq in skipped:
            seq += 1
        yield seq, pcm[at : at + FRAME_BYTES]
        seq += 1
