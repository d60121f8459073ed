"""Makes graphs, lets both sides run them, and reports: tests/outside/run --help."""

import collections
import datetime
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from . import folders, text, triage
from .compose import compose
from .complete import missing_operators
from .operators import OPERATORS
from .options import Options
from .relay import Relay, Verdict
from .shrink import Shrinker

HERE = Path(__file__).resolve().parents[1]
BATCH = 50
# Graphs, in which each operator has to be accepted, each known difference should be seen, and none more often than it may be.
ENOUGH = 5_000
MOST_SHOWN = 3  # findings of one sort
GRAPH_ENGINE, AOT = 10, 100  # every so many graphs run on `graph` too, and on `aot-cpp`
KIND_OF = {"refuses": "relay refuses", "unsupported": "relay unsupported"}  # else as Relay's verdict says


@dataclass(frozen=True)
class Finding:
    """A graph on which the two sides do not agree."""

    seed: int
    kind: str
    node: str  # the text of the node to blame
    message: str
    folder: Path | None = None  # the smallest part that shows it


class Run:
    """All batches of one run, and what came of them."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.relay = Relay(options.relay, options.root)
        self.known = triage.read(HERE / "triage.toml")
        self.limits = triage.read_limits(HERE / "triage.toml")
        self.kinds: collections.Counter[str] = collections.Counter()
        self.accepted: collections.Counter[str] = collections.Counter()
        self.new: list[Finding] = []
        self.nodes = 0
        self._lock = threading.Lock()

    def batch(self, first: int) -> None:
        """The graphs from number `first` on."""
        last = min(first + BATCH, self.options.seed + self.options.count)
        with tempfile.TemporaryDirectory(prefix="relay-outside-") as name:
            home = Path(name)
            self._compose(home, first, last)
            made = sorted(p.parent for p in home.glob("*/about.json"))
            about = {p: json.loads((p / "about.json").read_text(encoding="utf-8")) for p in made}
            verdicts = self._verify(made)
            again = {}
            for p in made:
                if verdicts[p].kind in ("unsupported", "limit") and about[p]["symbolic"]:
                    fixed = home / f"{p.name}-fixed"
                    folders.write_graph(fixed, compose(about[p]["seed"], self.options.only), symbolic=False)
                    again[p] = fixed
            for p, verdict in self._verify(again.values()).items():
                open_axes = next(k for k, v in again.items() if v == p)
                verdicts[open_axes] = verdict
                with self._lock:
                    self.kinds[triage.FIXED] += 1
            for p in made:
                self._judge(about[p], verdicts[p], home)

    def _verify(self, made) -> dict[Path, Verdict]:
        """Every graph on some engines, a few on more."""
        groups = collections.defaultdict(list)
        for p in made:
            seed = int(p.name.split("-")[0])
            engines = "interp,jit" + ",graph" * (seed % GRAPH_ENGINE == 0) + ",aot-cpp" * (seed % AOT == 0)
            groups[engines].append(p)
        out = {}
        for engines, group in groups.items():
            out |= replace(self.relay, engines=engines).verify(group)
        return out

    def _compose(self, home: Path, first: int, last: int) -> None:
        """Lets a process of its own make the graphs, because the peer may crash."""
        while first < last:
            command = [
                sys.executable,
                "-m",
                "graphs.folders",
                str(home),
                str(first),
                str(last),
                ",".join(self.options.only),
            ]
            done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, errors="replace")
            if done.returncode == 0:
                return
            if done.returncode > 0:
                raise RuntimeError(f"{' '.join(command)}:\n{done.stderr}")
            seed, operator = (home / "trying").read_text().split()
            self._add(Finding(int(seed), "peer crashes", f"{operator} ", f"signal {-done.returncode}"))
            first = int(seed) + 1

    def _judge(self, about: dict, verdict: Verdict, home: Path) -> None:
        with self._lock:
            self.nodes += len(about["operators"])
        if verdict.kind == "agrees" and not about["refusal"]:
            with self._lock:
                self.kinds["agree"] += 1
                self.accepted.update(about["operators"])
        elif verdict.kind in KIND_OF and about["refusal"]:
            with self._lock:
                self.kinds["both refuse"] += 1
        elif verdict.kind in ("agrees", "differs") and about["refusal"]:
            self._add(Finding(about["seed"], "peer refuses", refused_by_peer(about), about["refusal"]))
        else:
            self._blame(about, verdict, home / f"{about['seed']}-parts")

    def _blame(self, about: dict, verdict: Verdict, home: Path) -> None:
        """Looks for the node to blame. A node that Relay refuses may read what another one made differently."""
        seed = about["seed"]
        composed = compose(seed, self.options.only)
        shrinker = Shrinker(composed, replace(self.relay, engines=self._engines(seed)), home)
        part = shrinker.blame()
        if not part:
            node = about["nodes"].get(verdict.node, f"graph of {' '.join(composed.operators)}")
            self._add(Finding(seed, KIND_OF.get(verdict.kind, verdict.kind), node, verdict.message))
            return
        steps, found = part
        node = " ; ".join(text.of_step(s, composed.graph.opset) for s in steps)
        finding = Finding(seed, KIND_OF.get(found.kind, found.kind), node, found.message)
        if self._add(finding):
            folder = self.options.found / folders.name_of(seed)
            shutil.rmtree(folder, ignore_errors=True)
            shrinker.write(folder, steps)
            with self._lock:
                self.new[self.new.index(finding)] = replace(finding, folder=folder)

    def _engines(self, seed: int) -> str:
        return "interp,jit" + ",graph" * (seed % GRAPH_ENGINE == 0) + ",aot-cpp" * (seed % AOT == 0)

    def _add(self, finding: Finding) -> bool:
        """Counts a finding. True if it is new."""
        with self._lock:
            known = triage.explain(self.known, finding.kind, finding.node, finding.message)
            self.kinds[finding.kind + ("" if known else ", new")] += 1
            if not known:
                self.new.append(finding)
                say(f"{finding.seed}: {finding.kind}: {finding.node[:200]}: {finding.message[:200]}")
            return not known


def refused_by_peer(about: dict) -> str:
    """The text of the node that the peer names, else of the last one."""
    named = re.search(r"(?:Node \(|Name:')(n\d+)[)']", about["refusal"])
    return about["nodes"].get(named[1] if named else "", list(about["nodes"].values())[-1])


def show_new(run: Run) -> None:
    """Findings of one sort stand together."""
    sorts = collections.defaultdict(list)
    for f in sorted(run.new, key=lambda f: f.seed):
        sorts[f.kind, f.node.split(" ")[0], re.sub(r"[\d.]+", "#", f.message)[:80]].append(f)
    for (kind, operator, _), found in sorted(sorts.items(), key=lambda item: -len(item[1])):
        print(f"\nNEW {kind}: {operator}, {len(found)} times")
        for f in found[:MOST_SHOWN]:
            print(f"  {f.node[:600]}\n    {f.message[:400]}")
            print(f"    again: tests/outside/run --seed {f.seed} --count 1" + only_option(run.options))
            if f.folder:
                print(f"    smallest part: relay verify {f.folder}")


def only_option(options: Options) -> str:
    return f" --only {','.join(options.only)}" if options.only else ""


def show(run: Run, seconds: float) -> int:
    """Prints the report. The exit code: 1 if something is new, missing, or known and too frequent."""
    show_new(run)
    options = run.options
    print(f"\n{options.count} graphs from seed {options.seed}, {run.nodes} nodes, {seconds:.0f} s")
    for kind, count in sorted(run.kinds.items(), key=lambda item: -item[1]):
        print(f"{count:7}  {kind}")
    for entry in run.known:
        if entry.count:
            print(f"{entry.count:7}  known: {entry.title}")
    large = options.count >= ENOUGH and not options.only
    unseen = [n for n in OPERATORS if not run.accepted[n]]
    if large and unseen:
        print(f"no graph in which both sides agree has {', '.join(unseen)}")
    for entry in run.known:
        if large and not entry.count:
            print(f"not seen: the known difference of {entry.title}")
    many = triage.exceeded(run.known, run.limits, run.kinds, options.count) if large else []
    for line in many:
        print(f"too many: {line}")
    print(f"{len(run.new)} new differences; the rarest operators:", rarest(run))
    return 1 if run.new or many or (large and unseen) else 0


def rarest(run: Run) -> str:
    counts = sorted((run.accepted[n], n) for n in OPERATORS)
    return ", ".join(f"{name} {count}" for count, name in counts[:5])


def say(line: str) -> None:
    """Progress, for who watches."""
    print(f"outside: {datetime.datetime.now():%H:%M:%S} {line}", file=sys.stderr, flush=True)


def run(options: Options) -> int:
    """Runs and reports."""
    wrong = missing_operators(options.relay)
    for line in wrong:
        print(f"outside: {line}")
    if wrong:
        return 1
    print(f"outside: graphs {options.seed} to {options.seed + options.count - 1}", flush=True)
    started = time.monotonic()
    all_batches = Run(options)
    done = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(all_batches.batch, range(options.seed, options.seed + options.count, BATCH)):
            done += BATCH
            if done % 500 == 0:
                say(f"{done} graphs, {len(all_batches.new)} new differences")
    return show(all_batches, time.monotonic() - started)
