"""The command line of bench/run. Standard library only: it is read before the virtual environment exists."""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from .row import BEFORE

ROOT = Path(__file__).resolve().parents[2]

CONVOLUTIONAL = (
    "resnet18", "resnet50", "mobilenet_v1", "mobilenet_v2", "vgg16",
    "squeezenet1_1", "densenet121", "efficientnet_b0", "dqn", "dcgan",
    "mobilenet_g", "resnext50",
)  # fmt: skip
OPERATORS = (
    "op_matmul_1024", "op_matvec_4096", "op_conv3x3_c64_56", "op_conv1x1_c256_28", "op_conv3x3_c512_7",
    "op_dwconv3x3_c512_14", "op_softmax_12x128x128", "op_attention_12x512", "op_elemwise_chain_1m",
    "op_reduce_transpose",
)  # fmt: skip
DEFAULT = (*CONVOLUTIONAL, "lenet", "mlp", "bert_base_s128", *OPERATORS)
PEERS = ("ort", "openvino", "torch")  # ONNX Runtime is what results are compared with: it is always there
QUICK_PEERS = ("ort", "openvino")  # PyTorch takes minutes to compile
QUICK = ("resnet18", "mobilenet_v2", "dqn", "mlp", "op_matmul_1024", "op_conv3x3_c64_56")


@dataclass(frozen=True)
class Options:
    """What to measure and how."""

    networks: tuple[str, ...]
    threads: tuple[int, ...]
    peers: tuple[str, ...]
    runs: int
    rounds: int
    seconds: float
    relay: Path
    before: Path | None
    json: Path | None
    keep: bool

    def columns(self) -> tuple[str, ...]:
        """What ours is compared with."""
        return (*self.peers, BEFORE) if self.before else self.peers


def home() -> Path:
    """Where everything that is made lies: the virtual environment, the ONNX files, compiled models."""
    chosen = os.environ.get("RELAY_BENCH_HOME")
    return Path(chosen).expanduser().absolute() if chosen else Path.home() / ".cache" / "relay-bench"


def parse() -> Options:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="bench/run",
        description="Compares the aot-cpp engine with ONNX Runtime, OpenVINO and PyTorch, in one process and in turns.",
        epilog="What it makes lies in $RELAY_BENCH_HOME, or else in ~/.cache/relay-bench.",
    )
    parser.add_argument("--only", metavar="NAME,...", type=names, help="these networks of the zoo")
    parser.add_argument("--quick", action="store_true", help="six networks, no PyTorch, a shorter measurement")
    parser.add_argument("--peers", metavar="NAME,...", type=peer_names, help=f"of {', '.join(PEERS)}; all of them")
    parser.add_argument("--threads", metavar="N,...", type=thread_counts, help="default 1,2")
    parser.add_argument("--runs", metavar="N", type=positive, default=20, help="at least this many timed runs (20)")
    parser.add_argument("--rounds", metavar="N", type=positive, default=5, help="turns that each engine takes (5)")
    parser.add_argument("--relay", metavar="PATH", type=Path, default=ROOT / "relay", help="the command to compile with")
    parser.add_argument("--before", metavar="PATH", type=command, help="an earlier `relay`: how much faster is this one?")
    parser.add_argument("--json", metavar="FILE", type=file_to_write, help="write every number here as well")
    parser.add_argument("--keep", action="store_true", help="keep the compiled models and say where they are")
    given = parser.parse_args()
    return Options(
        networks=given.only or (QUICK if given.quick else DEFAULT),
        threads=given.threads or tuple(count for count in (1, 2) if count <= cores()),
        peers=given.peers or (QUICK_PEERS if given.quick else PEERS),
        runs=given.runs,
        rounds=given.rounds,
        seconds=0.5 if given.quick else 2.0,
        relay=given.relay.absolute(),
        before=given.before,
        json=given.json,
        keep=given.keep,
    )


def names(text: str) -> tuple[str, ...]:
    """A list with commas, each name once."""
    return tuple(dict.fromkeys(name for name in text.split(",") if name))


def peer_names(text: str) -> tuple[str, ...]:
    """Peers in the order of their columns, with the one that results are compared with."""
    asked = names(text)
    unknown = [name for name in asked if name not in PEERS]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no peer `{unknown[0]}`; there are {', '.join(PEERS)}")
    return tuple(name for name in PEERS if name in asked or name == PEERS[0])


def positive(text: str) -> int:
    """A number of at least 1."""
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of at least 1")
    return int(text)


def command(text: str) -> Path:
    """A program that is there."""
    path = Path(text).absolute()
    if not os.access(path, os.X_OK) or not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no program `{path}`")
    return path


def file_to_write(text: str) -> Path:
    """A path whose folder is there: better to know before measuring for an hour."""
    path = Path(text).absolute()
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder `{path.parent}`")
    return path


def thread_counts(text: str) -> tuple[int, ...]:
    """Numbers with commas, none above the cores that this process may use."""
    counts = tuple(dict.fromkeys(positive(part) for part in text.split(",")))
    if max(counts) > cores():
        raise argparse.ArgumentTypeError(f"{max(counts)} threads on {cores()} cores would measure the scheduler")
    return counts


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))
