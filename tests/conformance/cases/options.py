"""The command line of tests/conformance/run. Standard library only: no virtual environment exists yet."""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Options:
    """What to run, and with what."""

    root: Path
    home: Path  # where cases, wheels and models lie
    relay: Path
    runner: Path
    what: str  # "nodes", "models" or "exported"
    is_open: bool
    update: bool
    only: str
    settings: tuple[str, ...]
    jobs: int
    install: bool
    json: Path | None


SETTINGS = ("interp", "jit:0", "jit:2", "graph:2", "aot-cpp:0", "aot-cpp:2")
OPEN_SETTINGS = ("interp", "jit:0", "jit:2", "aot-cpp:0", "aot-cpp:2")  # `graph` takes static shapes alone


def parse(words: list[str] | None = None) -> Options:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="./dev conformance",
        description="ONNX's own node cases, and models inside PyPI wheels, on Relay: docs/testing.md.",
    )
    parser.add_argument("what", nargs="?", choices=("nodes", "models", "exported"), default="nodes", help="node cases (default)")
    parser.add_argument("--open", action="store_true", help="node cases with each extent of an input as a symbol")
    parser.add_argument("--update", action="store_true", help="rewrite the list of what passes")
    parser.add_argument("--only", metavar="TEXT", default="", help="those whose name contains this; no list changes")
    parser.add_argument("--settings", metavar="S,...", default="", help=f"engines and levels: {','.join(SETTINGS)}")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count(), help="processes at a time (all cores)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every verdict there")
    parser.add_argument("--relay", metavar="PATH", type=Path, help="the binary (that of this checkout)")
    parser.add_argument("--runner", metavar="PATH", type=Path, help="likewise, the program that runs cases")
    parser.add_argument(
        "--no-install", action="store_true", help="fail if the virtual environment of bench/ is not there"
    )
    given = parser.parse_args(words)
    if given.update and (given.only or given.settings):
        parser.error("--update needs the verdicts of all: leave out --only and --settings")
    built = ROOT / "bazel-bin"
    return Options(
        root=ROOT,
        home=ROOT / ".cache" / "conformance",
        relay=(given.relay or built / "tools" / "relay").absolute(),
        runner=(given.runner or built / "tests" / "conformance" / "run_cases").absolute(),
        what=given.what,
        is_open=given.open,
        update=given.update,
        only=given.only,
        settings=tuple(s for s in given.settings.split(",") if s) or (OPEN_SETTINGS if given.open else SETTINGS),
        jobs=max(1, given.jobs),
        install=not given.no_install,
        json=given.json.absolute() if given.json else None,
    )
