"""What the engines of a process are built from. Filled by the caller; reads no environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Endpointing:
    """How silence cuts speech into utterances. Seconds on the audio clock."""

    speech_threshold: float = 0.5
    silence_threshold: float = 0.35
    onset_s: float = 0.096
    preroll_s: float = 0.3
    eager_s: float = 0.128  # 4 windows: then the words are there when stop_s closes the utterance (measured)
    stop_s: float = 0.5  # pause that closes an utterance
    max_utterance_s: float = 27.0  # + 2 s of margin stays inside Whisper's 30 s


@dataclass(frozen=True, slots=True)
class TurnTaking:
    """The three clocks of a turn: silence since the last word, in seconds; and what a silent one gets.

    Chosen with tests/inference/test_cut_offs.py for pauses as people make them: at most 2.5 s at clause ends.
    """

    soft_s: float = 0.65
    soft_unfinished_s: float = 1.2
    soft_hanging_s: float = 2.0
    hard_s: float = 2.0
    hard_early_s: float = 2.6  # after a finished sentence that can hardly be the whole answer
    hard_unfinished_s: float = 2.7
    hard_hanging_s: float = 4.0
    held_soft_s: float = 0.5  # after the key was let go: the page sends 0.8 s more, and no more comes
    thinking_s: float = 30.0
    ask_after_s: float = 45.0  # of silence: are you still there? As much again, and the turn ends
    warn_at: float = 0.9  # of the time limit
    turn_model_after_s: float = 0.2


@dataclass(frozen=True, slots=True)
class RemoteAsrConfig:
    """OpenAI-compatible speech servers, one as good as the other. All in seconds."""

    urls: tuple[str, ...] = ()
    model: str = "whisper-1"
    api_key: str = field(default="", repr=False)
    at_once: int = 4  # requests that one server works on
    connect_s: float = 1.0
    total_s: float = 4.0  # + the length of the audio; nothing of a server is waited for longer
    max_bytes: int = 1_048_576
    first_rest_s: float = 1.0  # from a failure to the probe that may bring the server back; doubled each time
    last_rest_s: float = 60.0


@dataclass(frozen=True, slots=True)
class RecognizerConfig:
    """The model on this disk, if any, and the servers that are asked before it, if any."""

    model_dir: Path | None
    device: str = "cpu"
    compute_type: str = "int8"
    # A second thread makes a decode slower, not faster: tokens are small work (300 against 450 ms measured).
    threads: int = 1
    at_once: int = 1  # utterances side by side, each in a process with a model of its own
    kill_after_s: float = 4.0  # + the length of the audio being decoded
    nice: int = 0
    # 30 s for Chinese finals: no better (CER 0.199 against 0.183 cut, 36 readings) at 3.4 times the CPU.
    chinese_full_window: bool = False
    remote: RemoteAsrConfig = field(default_factory=RemoteAsrConfig)
    turn_model_dir: Path | None = None  # of Smart Turn, where it was fetched


@dataclass(frozen=True, slots=True)
class LlmConfig:
    """OpenAI-compatible servers, first tier first. All in seconds."""

    urls: tuple[str, ...] = ()
    model: str = ""
    api_key: str = ""
    connect_s: float = 1.0
    first_token_s: float = 2.5
    between_tokens_s: float = 1.5
    total_s: float = 5.0
    max_bytes: int = 65_536


def base_url(url: str) -> str:
    """An OpenAI-compatible server's address, which may name the server or its `/v1`."""
    plain = url.rstrip("/")
    return plain if urlsplit(plain).path else plain + "/v1"


@dataclass(frozen=True, slots=True)
class SessionConfig:
    endpointing: Endpointing = field(default_factory=Endpointing)
    turn_taking: TurnTaking = field(default_factory=TurnTaking)
    partial_every_s: float = 0.8
    late_s: float = 1.0  # a final later than this is shown as low-confidence
    settle_s: float = 60.0  # decodes have deadlines of their own; this bounds their sum at the end of a turn
