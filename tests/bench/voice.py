"""Our voice detector and endpointer over a whole recording at once, without a session: for peers and cuts."""

from __future__ import annotations

from collections.abc import Sequence

from inference.adapters.silero import SileroModel
from inference.audio import WINDOW_BYTES, WINDOW_S, WINDOW_SAMPLES, AudioChunk
from inference.config import Endpointing
from inference.endpointing import Endpointer, Sound, Utterance, UtteranceEnded

ENDPOINTING = Endpointing()


def probabilities(pcm: bytes) -> list[float]:
    """How sure the detector is of voice, window by window."""
    model = SileroModel()
    state = model.fresh()
    return [model.score([state], [window])[0] for window in windows(pcm)]


def windows(pcm: bytes) -> list[bytes]:
    """The last one filled with silence."""
    return [pcm[at : at + WINDOW_BYTES].ljust(WINDOW_BYTES, b"\0") for at in range(0, len(pcm), WINDOW_BYTES)]


def utterances(pcm: bytes) -> list[Utterance]:
    """The utterances that a session would have decoded for good."""
    ears, sounds = Endpointer(ENDPOINTING), list[Sound]()
    for number, (window, score) in enumerate(zip(windows(pcm), probabilities(pcm), strict=True)):
        sounds += ears.feed(AudioChunk(number * WINDOW_SAMPLES, window), [score])
    sounds += ears.finish()
    return [sound.utterance for sound in sounds if isinstance(sound, UtteranceEnded)]


def silence_ends(scores: Sequence[float], silence_s: float) -> float | None:
    """When a rule that knows nothing but the detector takes the floor: after so much silence behind voice.

    None: never within the recording.
    """
    voiced, silent, spoke, run = False, 0, False, 0
    for number, score in enumerate(scores, 1):
        voiced = score >= (ENDPOINTING.silence_threshold if voiced else ENDPOINTING.speech_threshold)
        run = run + 1 if voiced else 0
        spoke = spoke or run * WINDOW_S >= ENDPOINTING.onset_s - 1e-9
        silent = 0 if voiced else silent + 1
        if spoke and silent * WINDOW_S >= silence_s - 1e-9:
            return number * WINDOW_S
    return None
