"""What is asked of a duel and what it answers. Standard library only."""

from dataclasses import dataclass, field

OURS = "relay"
BEFORE = "before"  # an earlier Relay: a column like a peer, and none of the peers


@dataclass(frozen=True)
class Request:
    """What to measure. Without `artifact` only the peers run."""

    network: str
    threads: int
    model: str
    artifact: str | None
    before: str | None  # the artifact of an earlier Relay
    peers: list[str]
    runs: int
    rounds: int
    seconds: float
    answer: str


@dataclass
class Versus:
    """One peer: the median of its runs in milliseconds, ours by that, and the extremes of that over the rounds."""

    ms: float | None = None
    ratio: float | None = None
    least: float | None = None
    most: float | None = None
    status: str = "ok"


@dataclass
class Row:
    """What was found; `others` is a share of time, `flops` and `bytes` are the network's, whoever computes it."""

    network: str
    threads: int
    versus: dict[str, Versus] = field(default_factory=dict)
    relay_ms: float | None = None
    flops: float = 0.0
    bytes: float = 0.0
    roof_share: float | None = None
    roof_limit: str | None = None
    runs: int = 0
    repeats: int = 0
    compile_s: float | None = None
    before_compile_s: float | None = None
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    others: float | None = None
    status: str = "ok"
    samples_ms: dict[str, list[list[float]]] | None = None

    def __post_init__(self) -> None:
        """From JSON: plain dictionaries become what they were."""
        self.versus = {name: Versus(**v) if isinstance(v, dict) else v for name, v in self.versus.items()}

    def best_peer(self) -> str | None:
        """The fastest of those whose results agree."""
        peers = {name: v for name, v in self.versus.items() if name != BEFORE}
        sound = {name: v.ms for name, v in peers.items() if v.ms is not None and v.status == "ok"}
        return min(sound, key=sound.__getitem__) if sound else None
