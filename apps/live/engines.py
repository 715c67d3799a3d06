"""The engines of this process: built once, loaded before the first answer, shared by all live sessions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from apps.ops.metrics import observe
from inference.bootstrap import build_engines, close_engines, start_engines
from inference.ports import Engines, EngineUnavailable

logger = logging.getLogger(__name__)

LOADED_WITHIN_S = 20.0


class EngineRoom:
    """Builds on first use. An engine that cannot be loaded leaves text mode and a reason, never an error."""

    def __init__(self, build: Callable[[], Engines]) -> None:
        self._build = build
        self._loading: asyncio.Task[Engines] | None = None

    async def engines(self) -> Engines:
        """The engines, loaded. A candidate who comes meanwhile waits, within bounds."""
        return await asyncio.shield(self.start())

    def start(self) -> asyncio.Task[Engines]:
        """Begin to load, once; needs a running loop."""
        if self._loading is None:
            self._loading = asyncio.create_task(self._load(), name="load engines")
        return self._loading

    async def aclose(self) -> None:
        if self._loading is not None and self._loading.done():
            await close_engines(self._loading.result())
        self._loading = None

    async def _load(self) -> Engines:
        engines = await asyncio.to_thread(self._build)
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
    from apps.ops.engine_settings import llm_config, recognizer_config, speech_model  # noqa: PLC0415

    recognizer = recognizer_config()
    why = "" if recognizer is not None else speech_model().why
    return build_engines(recognizer, llm_config(), why, observe)


process_engines = EngineRoom(engines_from_settings)
