"""The command line of tests/outside/run. Standard library only: it is read before the virtual environment exists."""

import argparse
import datetime
import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Options:
    """Which graphs, and with what."""

    root: Path
    relay: Path
    found: Path
    seed: int
    count: int
    only: tuple[str, ...]
    jobs: int
    install: bool


def parse() -> Options:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="tests/outside/run",
        description="Random ONNX graphs on Relay and on ONNX Runtime: docs/testing.md, Graphs from outside.",
    )
    parser.add_argument("--count", metavar="N", type=int, default=1000, help="how many graphs (1000)")
    parser.add_argument("--seed", metavar="N", type=int, help="the number of the first one (another one each day)")
    parser.add_argument("--only", metavar="NAME,...", default="", help="graphs of these operators")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count(), help="processes at a time (all cores)")
    binary = ROOT / "bazel-bin" / "tools" / "relay"
    parser.add_argument("--relay", metavar="PATH", type=Path, default=binary, help="the binary (that of this checkout)")
    parser.add_argument(
        "--no-install", action="store_true", help="fail if the virtual environment of bench/ is not there"
    )
    given = parser.parse_args()
    today = datetime.date.today().toordinal() * 100_000
    return Options(
        root=ROOT,
        relay=given.relay.absolute(),
        found=ROOT / ".cache" / "outside",
        seed=today if given.seed is None else given.seed,
        count=given.count,
        only=tuple(name for name in given.only.split(",") if name),
        jobs=max(1, given.jobs),
        install=not given.no_install,
    )
