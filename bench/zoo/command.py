"""What `python3 -m zoo` does: list the networks, check that they are reproducible, write them."""

import argparse
import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path

import onnx

from .catalogue import NETWORKS, Network
from .writer import write


def main() -> int:
    """Lists, checks or writes."""
    arguments = parse()
    names = arguments.words if arguments.list or arguments.check else arguments.words[1:]
    unknown = [name for name in names if name not in NETWORKS]
    if unknown:
        print(f"zoo: no network named `{unknown[0]}`; --list shows them all", file=sys.stderr)
        return 2
    networks = [NETWORKS[name] for name in names or NETWORKS]
    if arguments.list:
        return list_networks(networks)
    if arguments.check:
        return check_networks(networks)
    if not arguments.words:
        print("zoo: OUT_DIR is missing; --help shows the usage", file=sys.stderr)
        return 2
    return write_networks(Path(arguments.words[0]), networks)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python3 -m zoo",
        usage="%(prog)s OUT_DIR [NAME ...] | --list [NAME ...] | --check [NAME ...]",
        description="Makes the ONNX files of the benchmark networks; without NAME, all of them (about 2.5 GB).",
    )
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="print each network with its parameter count")
    parser.add_argument("--check", action="store_true", help="make each twice in memory and compare")
    return parser.parse_args()


def list_networks(networks: Iterable[Network]) -> int:
    """One line a network. Fails if a parameter count is not the published one."""
    print(f"{'network':<22} {'parameters':>12} {'published':>12} {'MB':>7} {'nodes':>6}  inputs")
    wrong = 0
    for network in networks:
        graph = network.graph()
        count = graph.parameters()
        matches = network.published in (None, count)
        wrong += not matches
        published = "-" if network.published is None else f"{network.published:,}"
        inputs = " ".join(f"{v.name}{list(v.shape)}".replace("'", "").replace(" ", "") for v in graph.inputs[:3])
        more = f" and {len(graph.inputs) - 3} more" if len(graph.inputs) > 3 else ""
        size = f"{graph.stored_bytes() / 1e6:.1f}"
        mark = "" if matches else "  WRONG COUNT"
        print(f"{network.name:<22} {count:>12,} {published:>12} {size:>7} {len(graph.nodes):>6}  {inputs}{more}{mark}")
    return 1 if wrong else 0


def check_networks(networks: Iterable[Network]) -> int:
    """Makes each network twice: the bytes must agree, and ONNX's checker with shape inference must accept them."""
    failures = 0
    for network in networks:
        first, second = digest(network, validate=True), digest(network, validate=False)
        failures += first != second
        print(f"{network.name:<22} {first[:16]} {'same' if first == second else 'DIFFERS'}", flush=True)
    return 1 if failures else 0


def digest(network: Network, *, validate: bool) -> str:
    """The hash of the file that would be written."""
    model = network.graph().model()
    if validate:
        onnx.checker.check_model(model, full_check=True)
    return hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest()


def write_networks(folder: Path, networks: Iterable[Network]) -> int:
    """One file a network."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for network in networks:
            path = write(network, folder)
            print(f"{path}: {path.stat().st_size / 1e6:.1f} MB", flush=True)
    except OSError as error:
        print(f"zoo: cannot write {error.filename or folder}: {error.strerror}", file=sys.stderr)
        return 1
    return 0
