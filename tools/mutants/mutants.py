#!/usr/bin/python3
"""Plants mistakes into passes, kernels, printers and operators, one at a time, and says which of them the tests catch.

Usage: ./dev mutants [--count N] [--minutes M] [--jobs N] [--only NUMBER]... [--equivalent] [--list]

All mistakes are compiled into one copy of the checkout (in .cache/mutants) and chosen when a test runs. What is known of mutants
and of tests is kept there: the next run goes on, and runs survivors again. docs/testing.md, "Planted mistakes", has more.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time

import draw
import equivalent
import study
import tree

FOLDERS = ["analysis", "aot", "driver", "frontend/graph", "graph_runtime", "jit", "kernel", "op", "passes", "target", "toolchain"]
# `support` is text that is compiled by whoever uses an artifact, not by us: docs/testing.md has more.
WITHOUT = ("_test.cc", "aot/support/")
ROOT = pathlib.Path(__file__).resolve().parents[2]
HOME = ROOT / ".cache" / "mutants"
TREE = HOME / "tree"


def fail(text):
    print(f"mutants: {text}", file=sys.stderr)
    sys.exit(2)


def say(text):
    print(text, file=sys.stderr, flush=True)


# --- places -------------------------------------------------------------------------------------------------------


def sources():
    listed = [f for f in tree.checkout_files(ROOT) if f.startswith(tuple(folder + "/" for folder in FOLDERS)) and f.endswith(".cc")]
    return sorted(f for f in listed if not any(f.endswith(w) or f.startswith(w) for w in WITHOUT))


def choose(count):
    """The chosen places, by number, the instrumented files, and the keys of all places of files that equivalent.toml names. What
    clang cannot compile is replaced by another place."""
    import places as finder
    generated = [str(TREE / "bazel-bin")]
    reader = finder.Reader(["-I.", *(f"-I{g}" for g in generated), "-I/usr/lib/llvm-19/include"])
    os.chdir(TREE)  # the headers, as files name them
    files = sources()
    excused = equivalent.read()
    share = draw.quotas({f: (ROOT / f).read_bytes().count(b"\n") for f in files}, count)
    chosen, instrumented, keys = [], {}, []
    for file in files:
        named = {key for key, entry in excused.items() if entry.path == file}
        # A file that no share falls to is read for its entries, and for its barriers.
        if not share[file] and not named and b"barrier" not in (ROOT / file).read_bytes():
            continue
        source, found = reader.places(file)
        keys += [place.key for place in found if named]
        drawn = draw.Draw(found, share[file], named)
        while True:
            drawn.take()
            numbers = {place: len(chosen) + i for i, place in enumerate(drawn.chosen)}
            text, lines = finder.instrumented(source, numbers)
            wrong = reader.wrong_lines(file, text)
            bad = [p for p in numbers if any(line in wrong for line in lines[p])]
            if not wrong:
                break
            if not bad:
                fail(f"clang does not read the instrumented {file}: lines {sorted(wrong)}")
            for place in bad:
                drawn.chosen.remove(place)
        chosen += drawn.chosen
        if drawn.chosen:
            instrumented[file] = text
        say(f"{len(chosen)} places: {file}")
    return chosen, instrumented, keys


def load(name, otherwise):
    path = HOME / name
    return json.loads(path.read_text()) if path.exists() else otherwise


def save(name, content):
    path = HOME / name
    path.with_suffix(".new").write_text(json.dumps(content, indent=1))
    path.with_suffix(".new").replace(path)


def bazel(*arguments):
    subprocess.run(["bazel", *arguments], cwd=TREE, check=True)


def query(text):
    out = subprocess.run(["bazel", "query", "--noshow_progress", text], cwd=TREE, check=True, stdout=subprocess.PIPE, text=True)
    return [label[2:].replace(":", "/") for label in out.stdout.split()]


def hold_entries(keys):
    """Ends the study if equivalent.toml excuses what is no place of today's files. `keys` are those of the files that it named when
    they were read; an entry of another file waits until they are read again."""
    entries = equivalent.read()
    keys = set(keys)
    read = {key.split("|")[0] for key in keys}
    wrong = equivalent.stale(entries.values(), ROOT)
    wrong += [f"{key}: clang finds no such place" for key, entry in entries.items() if entry.path in read and key not in keys]
    if wrong:
        fail("equivalent.toml is stale: take these entries out, or look at the mistakes anew\n" + "\n".join(wrong))


def make(count):
    """Builds the instrumented tests, and returns the places."""
    finders = ["tools/mutants/places.py", "tools/mutants/draw.py"]
    stamp = hashlib.sha256(b"".join((ROOT / f).read_bytes() for f in sources() + finders) + str(count).encode()).hexdigest()
    known = load("places.json", {})
    if known.get("stamp") != stamp:
        tree.update(ROOT, TREE, {})
        bazel("build", "--noshow_progress", *("//" + "/".join(l.split("/")[:-1]) + ":" + l.split("/")[-1]
                                              for l in query("kind(genrule, //...)")))
        chosen, instrumented, keys = choose(count)
        known = {"stamp": stamp, "instrumented": {f: t.decode() for f, t in instrumented.items()}, "keys": keys,
                 "places": [{"path": p.path, "line": p.line, "kind": p.kind, "text": p.text, "wrong": p.wrong, "key": p.key,
                             "of_line": p.of_line, "nth": p.nth} for p in chosen]}
        save("places.json", known)
        save("results.json", {})
    hold_entries(known["keys"])
    tree.update(ROOT, TREE, {f: t.encode() for f, t in known["instrumented"].items()})
    bazel("build", "--build_tests_only", "--test_tag_filters=-slow,-external,-manual", "//...")
    return known["places"]


# --- the study ----------------------------------------------------------------------------------------------------


def digest(path):
    h = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            h.update(block)
    return h.hexdigest()


def measure(runner, jobs):
    """How long each test takes and which places it comes to; (seconds, test) for each place."""
    tests = []
    kept = load("tests.json", {})
    now = {}
    for program in query("tests(//...) except attr(tags, 'slow|external|manual', tests(//...))"):
        of = digest(TREE / "bazel-bin" / program)
        if kept.get(program, {}).get("digest") != of:
            kept[program] = {"digest": of, "records": {}}
        now[program] = kept[program]
        # The same program has other tests where it makes them of files.
        tests += runner.tests_of(program)
    done = {str(t): now[t.program]["records"][t.name] for t in tests if t.name in now[t.program]["records"]}
    began = time.monotonic()
    for n in study.baselines(runner, tests, jobs, done):
        if n % 100 == 0 or n == len(tests):
            say(f"{n} of {len(tests)} tests measured, {time.monotonic() - began:.0f} s")
            for t in tests:
                if str(t) in done:
                    now[t.program]["records"][t.name] = done[str(t)]
            save("tests.json", now)
    for t in tests:
        now[t.program]["records"][t.name] = done[str(t)]
    save("tests.json", now)
    reaching = collections.defaultdict(list)
    for t in tests:
        record = done[str(t)]
        if record["status"] != 0:
            say(f"without a mutant, {t} fails: it is left out\n{record['output']}")
            continue
        for number in record["reached"]:
            reaching[number].append((record["seconds"], t))
    say(f"{len(tests)} tests, {sum(done[str(t)]['seconds'] for t in tests):.0f} s one by one")
    return reaching


def report(places, results):
    """Prints what came of the places; 1 if a mistake is caught that equivalent.toml excuses."""
    why = equivalent.read()
    by_kind, rows = collections.defaultdict(collections.Counter), []
    for number, place in enumerate(places):
        result = results.get(str(number))
        excused = place["key"] in why
        if result and result["caught"]:
            outcome = "caught"
        elif excused:
            outcome = "equivalent"
        elif result is None:
            outcome = "not run"
        else:
            outcome = "survives"
        for group in (place["kind"], place["path"].split("/")[0] + "/", "all"):
            by_kind[group][outcome] += 1
        told = {"caught": lambda: f"{result['caught']} ({result['how']})", "equivalent": lambda: why[place["key"]].reason,
                "survives": lambda: f"{result['reached']} tests come to it" +
                            (f", {result['not_run']} of them were not run" if result["not_run"] else ""),
                "not run": lambda: ""}[outcome]()
        seconds = f"{result['seconds']:.1f}" if result else ""
        short = equivalent.short
        rows.append("\t".join([str(number), f"{place['path']}:{place['line']}", place["kind"], short(place["text"]),
                               short(place["wrong"]), outcome, told, seconds, place["of_line"], str(place["nth"])]))
    (HOME / "table.tsv").write_text("number\tplace\tkind\tthere\tmutant\toutcome\tby\tseconds\tline\tnth\n" + "\n".join(rows)
                                    + "\n")
    for row in rows:
        if "\tsurvives\t" in row:
            print("\n    ".join(row.split("\t")))
    print(f"{'':16}{'caught':>10}{'survives':>10}{'equivalent':>12}{'not run':>9}")
    for group, counts in sorted(by_kind.items(), key=lambda item: (item[0] == "all", item[0].endswith("/"), item[0])):
        print(f"{group:16}{counts['caught']:>10}{counts['survives']:>10}{counts['equivalent']:>12}{counts['not run']:>9}")
    counts = by_kind["all"]
    ran = counts["caught"] + counts["survives"]
    print(f"{100 * counts['caught'] / max(ran, 1):.1f} % of {ran} mistakes are caught. All of them: {HOME / 'table.tsv'}")
    wrong = [(n, p) for n, p in enumerate(places) if p["key"] in why and results.get(str(n), {}).get("caught")]
    for number, place in wrong:
        print(f"equivalent.toml excuses a mistake that {results[str(number)]['caught']} catches: {place['key']}")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(prog="./dev mutants", description="which planted mistakes do the tests catch?")
    parser.add_argument("--count", type=int, default=240, help="how many mistakes (240)")
    parser.add_argument("--minutes", type=float, default=180, help="no new mistake is tried after these (180)")
    parser.add_argument("--budget", type=float, default=240, help="seconds of tests for a mistake that survives (240)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at once (a core each)")
    parser.add_argument("--only", type=int, action="append", default=[], help="this mistake alone, by its number; may be repeated")
    parser.add_argument("--equivalent", action="store_true",
                        help="run the mistakes of equivalent.toml alone: none of them may be caught")
    parser.add_argument("--list", action="store_true", help="say what is known, run nothing")
    options = parser.parse_args()
    began = time.monotonic()
    HOME.mkdir(parents=True, exist_ok=True)
    if options.list:
        known = load("places.json", {})
        # An older study said less of its places.
        return report(known["places"] if "keys" in known else [], load("results.json", {}))
    places = make(options.count)
    runner = study.Runner(TREE, places)
    reaching = measure(runner, options.jobs)
    results = load("results.json", {})
    why = equivalent.read()
    todo = options.only or [n for n, p in enumerate(places) if (p["key"] in why) == options.equivalent
                            and not results.get(str(n), {}).get("caught")]
    late = lambda: time.monotonic() - began > 60 * options.minutes
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        run = lambda n: None if late() else study.study_one(runner, n, reaching[n], options.budget)
        waiting = {pool.submit(run, n): n for n in todo}
        for done, ready in enumerate(concurrent.futures.as_completed(waiting)):
            number, result = waiting[ready], ready.result()
            if result is None:
                continue
            results[str(number)] = result
            save("results.json", results)
            p = places[number]
            say(f"{done + 1} of {len(todo)}: {p['path']}:{p['line']} {p['kind']}: "
                + (f"caught by {result['caught']}" if result["caught"] else "SURVIVES") + f", {result['seconds']:.1f} s")
    return report(places, results)


if __name__ == "__main__":
    sys.exit(main())
