"""The engines of this process: built once, loaded before the first answer, shared by all live sessions."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace

from apps.ops.metrics import observe
from inference.bootstrap import build_engines, close_engines, start_engines
from inference.ports import Engines, EngineUnavailable

logger = logging.getLogger(__name__)

LOADED_WITHIN_S = 20.0
WELCOME_WITHIN_S = 2.0  # what a page waits for a model that still loads; its audio waits longer
TRY_AGAIN_S = 30.0


class EngineRoom:
    """Builds on first use. An engine that cannot be loaded leaves text mode and a reason, never an error."""

    def __init__(self, build: Callable[[], Engines]) -> None:
        self._build = build
        self._built: asyncio.Task[Engines] | None = None
        self._loading: asyncio.Task[Engines] | None = None
        self._again: asyncio.Task[Engines] | None = None
        self._again_at_s = 0.0

    async def engines(self) -> Engines:
        """The engines, loaded if that is soon. A recogniser that still loads queues what it is asked."""
        loading = self.start()
        await asyncio.wait([loading], timeout=WELCOME_WITHIN_S)
        if self._built is not None and not loading.done():
            return await asyncio.shield(self._built)
        engines = await asyncio.shield(loading)
        if engines.recognizer is None and self._built is not None:
            self._try_again(self._built)
        return engines

    def start(self) -> asyncio.Task[Engines]:
        """Begin to load, once; needs a running loop."""
        if self._loading is None:
            self._built = asyncio.create_task(asyncio.to_thread(self._build), name="build engines")
            self._loading = asyncio.create_task(self._load(self._built), name="load engines")
        return self._loading

    async def aclose(self) -> None:
        built, self._built, self._loading = self._built, None, None
        if self._again is not None:
            self._again.cancel()
        if built is not None and built.done() and built.exception() is None:
            await close_engines(built.result())

    def _try_again(self, built: asyncio.Task[Engines]) -> None:
        """A server may be back, a model repaired: the next session is told. Nobody waits for it."""
        now_s = time.monotonic()
        if built.result().recognizer is None or now_s < self._again_at_s:
            return
        self._again_at_s = now_s + TRY_AGAIN_S
        self._again = asyncio.create_task(self._load(built), name="load engines again")
        self._again.add_done_callback(self._adopt)

    def _adopt(self, again: asyncio.Task[Engines]) -> None:
        if self._loading is not None and not again.cancelled():
            self._loading = again

    async def _load(self, built: asyncio.Task[Engines]) -> Engines:
        engines = await asyncio.shield(built)
        try:
            async with asyncio.timeout(LOADED_WITHIN_S):
                await start_engines(engines)
        except EngineUnavailable as exc:
            engines = replace(engines, voice=None, recognizer=None, why_text=str(exc))
        except TimeoutError:
            logger.warning("the speech model is still loading after %.0f s", LOADED_WITHIN_S)
        if engines.recognizer is None:
            logger.warning("answers are typed: %s", engines.why_text)
            observe("fallback:text_mode", 1)
        return engines


def engines_from_settings() -> Engines:
    from apps.ops.engine_settings import llm_config, recognizer_config, why_no_speech  # noqa: PLC0415

    return build_engines(recognizer_config(), llm_config(), why_no_speech(), observe)


process_engines = EngineRoom(engines_from_settings)
