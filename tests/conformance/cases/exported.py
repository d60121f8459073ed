"""`./dev conformance exported`: models that Relay writes as ONNX, on ONNX Runtime without its optimisations.

Each model under examples/models and ../shared/models is exported for the extents of its inputs. ONNX Runtime runs what
was exported, and `relay verify` compares its outputs with those that Relay gives of the model itself.
"""

import os
import shutil
import subprocess
import sys
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx

from . import inputs, lists
from .options import Options

HERE = Path(__file__).resolve().parents[1]
sys.path.append(str(HERE.parent / "outside"))
from graphs import peer, relay  # noqa: E402  how the peer runs a model, and how `relay verify` is read

LIST = HERE / "onnx_exported.txt"
SECONDS = 300  # that one command may take


def folders_of(options: Options) -> dict[str, Path]:
    """The folders of the models, by name. An example is a copy of the shared one."""
    shared = Path(os.environ.get("RELAY_SHARED", options.root.parent / "shared"))
    found = [*shared.glob("models/*/model.onnx"), *options.root.glob("examples/models/*/model.onnx")]
    return {path.parent.name: path.parent for path in found if options.only in path.parent.name}


def given_in(folder: Path) -> dict[str, np.ndarray]:
    """The inputs that lie beside a model, by name."""
    return {urllib.parse.unquote(path.stem): np.load(path) for path in folder.glob("inputs/*.npy")}


def check(options: Options, folder: Path) -> relay.Verdict:
    """Exports one model, runs that on the peer, and compares."""
    home = options.home / "exported" / folder.name
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    exported = home / "exported.onnx"
    words = ["compile", str(folder / "model.onnx"), "--emit", "onnx", "-o", str(exported)]
    environment = {**os.environ, "RELAY_ROOT": str(options.root), "RELAY_CACHE": "off"}
    command = [str(options.relay), *words, "--inputs", str(folder / "inputs")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=SECONDS, errors="replace")
    except subprocess.TimeoutExpired:
        return relay.Verdict("crashes", f"the export did not end within {SECONDS} s")
    if done.returncode < 0:
        return relay.Verdict("crashes", f"the export: signal {-done.returncode}")
    if done.returncode:
        return relay.refusal(done.returncode, done.stderr)
    given, model = given_in(folder), onnx.load(exported)
    names = [value.name for value in model.graph.output]
    try:
        results = peer.run(model, {value.name: given[value.name] for value in inputs.inputs_of(model)})
    except (KeyError, peer.Refused, peer.NotImplementedByPeer) as error:
        return relay.Verdict("differs", f"ONNX Runtime does not run what was exported: {error!r}"[:300])
    inputs.write(home / "inputs", given)
    inputs.write(home / "outputs", dict(zip(names, results)))
    (home / "model.onnx").symlink_to(folder / "model.onnx")
    return relay.Relay(options.relay, options.root, "interp", SECONDS).verify([home])[home]


def run(options: Options) -> int:
    """Checks all models and reports. The exit code: 1 if one is wrong, or differs from the list."""
    began = time.monotonic()
    folders = dict(sorted(folders_of(options).items()))
    with ThreadPoolExecutor(options.jobs) as pool:
        verdicts = dict(zip(folders, pool.map(lambda folder: check(options, folder), folders.values())))
    for name, said in verdicts.items():
        print(f"{name:<28}{said.kind:<14}{said.message[:200]}")
    print(f"\n{len(folders)} models in {time.monotonic() - began:.0f} s")
    return judge(options, verdicts)


def judge(options: Options, verdicts: dict[str, relay.Verdict]) -> int:
    """Compares with the list, or rewrites it. Only a refusal may be off the list."""
    passed = {name for name, said in verdicts.items() if said.kind == "agrees"}
    wrong = [name for name, said in verdicts.items() if said.kind not in ("agrees", "unsupported", "limit")]
    if wrong:
        print(f"WRONG: {', '.join(wrong)}")
    if options.update:
        kept = lists.read(LIST) - set(verdicts)  # of models that are not here, nothing is known
        lists.write(LIST, "Models that ONNX Runtime runs as Relay exports them: ./dev conformance exported.", passed | kept)
        return 1 if wrong else 0
    found = lists.compare(lists.read(LIST), set(verdicts), passed, is_part=True)
    for title, names in (("does not agree any more", found.lost), ("agrees, and is not on the list", found.gained)):
        for name in names:
            print(f"{title}: {name}")
    return 1 if found or wrong else 0
