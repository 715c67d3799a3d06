"""How an answer is opened, anew or where an earlier socket left it. Knows no flow and no endings."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Sequence
from contextlib import suppress

from apps.interviews.models import Turn
from apps.interviews.services.live import turn_epoch_keep, turn_open
from apps.interviews.services.seats import InterviewGone
from apps.live.course import Step
from apps.live.recorder import Place
from apps.live.rows import insist
from apps.live.spool import Spool, SpoolBusyError, open_spool
from inference import events as ev


async def turn_begun(place: Place, step: Step) -> tuple[Spool, Sequence[ev.Event]]:
    """A new turn with its spool, and the numbered events that announce it. Raises Superseded, OSError."""
    spool = await _opened(place, step.number)
    try:
        return spool, await insist(
            turn_open, seat=place.seat, turn=_turn(step, spool), events=step.announced()
        )
    except BaseException:
        await asyncio.to_thread(spool.remove if spool.next == 0 else spool.close)
        raise


async def spool_found(place: Place, number: int, epoch: str) -> Spool:
    """The spool of a turn that has rows. One begun anew is remembered there. Raises Superseded, OSError."""
    spool = await _opened(place, number)
    if spool.epoch == epoch:
        return spool
    try:
        await insist(turn_epoch_keep, seat=place.seat, number=number, epoch=spool.epoch)
    except BaseException as exc:
        await asyncio.to_thread(spool.remove if isinstance(exc, InterviewGone) else spool.close)
        raise
    return spool


async def _opened(place: Place, number: int) -> Spool:
    """A page that leaves meanwhile leaves no open spool behind: its lock would keep every later one out."""
    opening = asyncio.ensure_future(asyncio.to_thread(open_spool, place.spool_folder, number))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_let_go)
        raise


def _let_go(opening: asyncio.Future[Spool]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


def forget_kept(place: Place, numbers: Container[int]) -> None:
    """Remove spools of answers that are kept for good: a kill came between their rows and this."""
    for path in sorted(place.spool_folder.glob("*.spool")):
        if int(path.stem) in numbers:
            with suppress(SpoolBusyError):
                open_spool(place.spool_folder, int(path.stem)).remove()


def _turn(step: Step, spool: Spool) -> Turn:
    return Turn(
        number=step.number,
        question_id=step.question.id,
        kind=step.kind,
        question_text=step.text,
        epoch=spool.epoch,
    )
