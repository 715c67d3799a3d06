"""How an answer is opened, anew or where an earlier socket left it. Knows no flow and no endings."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from apps.interviews.models import Turn
from apps.interviews.services.live import turn_epoch_keep, turn_open
from apps.interviews.services.seats import InterviewGone
from apps.live.course import Step
from apps.live.recorder import Place
from apps.live.rows import insist
from apps.live.spool import Spool, open_spool
from inference import events as ev


async def turn_begun(place: Place, step: Step) -> tuple[Spool, Sequence[ev.Event]]:
    """A new turn with its spool, and the numbered events that announce it. Raises Superseded, OSError."""
    spool = await asyncio.to_thread(open_spool, place.spool_folder, step.number)
    try:
        return spool, await insist(
            turn_open, seat=place.seat, turn=_turn(step, spool), events=step.announced()
        )
    except BaseException:
        await asyncio.to_thread(spool.remove if spool.next == 0 else spool.close)
        raise


async def spool_found(place: Place, number: int, epoch: str) -> Spool:
    """The spool of a turn that has rows. One begun anew is remembered there. Raises Superseded, OSError."""
    spool = await asyncio.to_thread(open_spool, place.spool_folder, number)
    if spool.epoch == epoch:
        return spool
    try:
        await insist(turn_epoch_keep, seat=place.seat, number=number, epoch=spool.epoch)
    except BaseException as exc:
        await asyncio.to_thread(spool.remove if isinstance(exc, InterviewGone) else spool.close)
        raise
    return spool


def _turn(step: Step, spool: Spool) -> Turn:
    return Turn(
        number=step.number,
        question_id=step.question.id,
        kind=step.kind,
        question_text=step.text,
        epoch=spool.epoch,
    )
