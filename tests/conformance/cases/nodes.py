"""`./dev conformance`: ONNX's node cases on the engines, against the lists of what passes."""

import json
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import onnx

from . import lists, report
from .collect import collect
from .options import Options
from .progress import Progress
from .runner import Runner
from .verdicts import Case, add_lines

HERE = Path(__file__).resolve().parents[1]
CHUNK = 96  # cases that one process runs
# A list says what passes on all of these: a run without some of them does not compare with it.
DECIDING = ("interp", "jit:0", "jit:2", "aot-cpp:0", "aot-cpp:2")


def list_file(options: Options) -> Path:
    """Which cases must pass."""
    return HERE / ("onnx_open_passes.txt" if options.is_open else "onnx_passes.txt")


def run(options: Options) -> int:
    """Runs all cases and reports. The exit code: 1 if something is wrong, or differs from the list."""
    began = time.monotonic()
    if sys.stderr.isatty():
        print("conformance: collecting cases", end="\r", file=sys.stderr)
    folders = [folder for folder in collect(options.home, options.is_open) if options.only in folder.name]
    if not folders:
        print(f"conformance: no case has `{options.only}` in its name", file=sys.stderr)
        return 1
    cases, seconds = run_cases(options, folders)
    if options.json:
        text = json.dumps([asdict(case) for case in cases], indent=1)
        options.json.write_text(text, encoding="utf-8")
    return judge(options, cases, seconds, time.monotonic() - began)


def run_cases(options: Options, folders: list[Path]) -> tuple[list[Case], Counter[str]]:
    """What each engine says of each case, and how long each took in all processes."""
    cases = {}
    for folder in folders:
        about = json.loads((folder / "case.json").read_text(encoding="utf-8"))
        cases[folder.name] = Case(folder.name, about["operator"], about["random"])
    runner = Runner(options.runner, options.root, options.settings, options.is_open)
    seconds: Counter[str] = Counter()
    progress = Progress("conformance", len(folders))
    chunks = [folders[i : i + CHUNK] for i in range(0, len(folders), CHUNK)]
    with ThreadPoolExecutor(options.jobs) as pool:
        for chunk, lines in zip(chunks, pool.map(runner.run, chunks)):
            add_lines(cases, lines, seconds)
            progress.add(len(chunk), f"cases, up to {chunk[-1].name}")
    progress.end()
    return list(cases.values()), seconds


def judge(options: Options, cases: list[Case], seconds: Counter[str], took: float) -> int:
    """Prints the table and what differs from the list."""
    verdicts = {case.name: case.verdict(options.settings) for case in cases}
    counts = Counter(verdicts.values())
    passed = {name for name, verdict in verdicts.items() if verdict == "pass"}
    form = "each extent a symbol" if options.is_open else "as they are"
    print(f"{len(cases)} node cases of onnx {onnx.__version__}, {form}, in {took:.0f} s\n")
    print(report.table(cases, options.settings, seconds))
    print(f"\nrefused, {counts['refused']} in all:\n{report.refusals(cases)}")
    drawn = sum(case.is_random and verdicts[case.name] == "pass" for case in cases)
    weaker = [case.name for case in cases if any(said.weaker for said in case.said.values())]
    for text in (
        report.some("refused as if the model were wrong", report.blamed(cases)),
        report.some("passes, and an engine interprets a part of it", weaker),
        report.some("WRONG", report.wrong(cases), most=len(cases)),
    ):
        if text:
            print(text)
    print(
        f"\n{counts['pass']} pass ({drawn} of them draw numbers: their shapes are compared), "
        f"{counts['refused']} are refused, {counts['wrong']} are wrong"
    )
    path = list_file(options)
    if options.update:
        form = " with each extent of an input as a symbol" if options.is_open else ""
        lists.write(path, f"Node cases of the `onnx` wheel that pass{form}: ./dev conformance.", passed)
        return 1 if counts["wrong"] else 0
    if not set(DECIDING) <= set(options.settings):
        return 1 if counts["wrong"] else 0
    found = lists.compare(lists.read(path), set(verdicts), passed, is_part=bool(options.only))
    if found:
        print(report.differences(found, f"tests/conformance/{path.name}"))
    return 1 if found or counts["wrong"] else 0
