#!/usr/bin/python3
"""Runs clang-tidy with the checks of .clang-tidy. `./dev tidy` calls it and takes the same arguments.

Usage: tidy.py                the .cc files that the change touches, and for a header that it touches one that includes it
       tidy.py FILE...        these
       tidy.py --all          every file that Bazel compiles
       tidy.py --sample       one in 32 of them, by the commit: what `./dev test` can wait for
       tidy.py ... --jobs=N   N at a time, 1 unless said otherwise

The change is the working tree, compared with the merge base of HEAD and main. Reads compile_commands.json, which
tools/compile_commands.py writes. A finding in a header is printed once. Exit code 1 if there are findings.
"""

import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time
import zlib

import change

# Of as many commits in a row about two thirds of the files have their turn.
SAMPLES = 32

# A finding, or an error of the compiler's. What follows, up to the next one, explains it.
FINDING = re.compile(r"^(?P<path>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+): (?:warning|error): .*$", re.M)


def changed_files():
    """What differs from the base in the working tree, new files included and deleted ones not."""
    changed = change.git("diff", "--name-only", "--diff-filter=d", "-z", change.base_of_change(), "--")
    return sorted({path for path in changed.split("\0") if path} | set(change.new_files()))


def includers(header):
    """The files that include it by its path from the root."""
    found = subprocess.run(["git", "grep", "--untracked", "-lF", f'#include "{header}"', "--", "*.cc"],
                           capture_output=True, text=True)
    return found.stdout.splitlines()


def files_of(changed, compiled, includers_of):
    """The compiled files by which clang-tidy sees all that was changed, and the headers that none of them includes."""
    files = {path for path in changed if path in compiled}
    unseen = []
    for header in (path for path in changed if path.endswith(".h")):
        by = [path for path in includers_of(header) if path in compiled]
        own = header[:-len(".h")] + ".cc"
        if not by:
            unseen.append(header)
        elif not files.intersection(by):
            files.add(own if own in by else min(by))
    return sorted(files), unseen


def sample_of(files, commit):
    """The files whose turn it is at the commit. A file is in one sample, whichever others there are."""
    turn = int(commit[:8], 16) % SAMPLES
    return [path for path in files if zlib.crc32(path.encode()) % SAMPLES == turn]


def findings_of(output):
    """clang-tidy's output, as texts that begin with a place."""
    starts = [match.start() for match in FINDING.finditer(output)]
    return [output[a:b].rstrip() for a, b in zip(starts, [*starts[1:], len(output)])]


def tidy(path):
    """The findings of a file, and what clang-tidy says if it cannot run."""
    ended = subprocess.run(["clang-tidy-19", "-p", ".", "--quiet", path], capture_output=True, text=True, errors="replace")
    found = findings_of(ended.stdout + "\n" + ended.stderr)
    if ended.returncode != 0 and not found:
        found = [f"{path}:1:1: error: clang-tidy-19 ended with {ended.returncode}: {(ended.stderr or ended.stdout).strip()}"]
    return [text.removeprefix("./") for text in found]


def run(files, jobs):
    """Prints each finding once, as soon as it is there; says how many there were."""
    seen = set()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(tidy, files):
            for text in found:
                first = text.split("\n", 1)[0]
                if first not in seen:
                    seen.add(first)
                    print(text, flush=True)
    return len(seen)


def main():
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    arguments = sys.argv[1:]
    jobs = max([int(a.removeprefix("--jobs=")) for a in arguments if re.fullmatch(r"--jobs=\d+", a)], default=1)
    arguments = [a for a in arguments if not a.startswith("--jobs=")]
    with open("compile_commands.json", encoding="utf-8") as file:
        compiled = {command["file"] for command in json.load(file)}
    if arguments == ["--all"]:
        files = sorted(compiled)
    elif arguments == ["--sample"]:
        files = sample_of(sorted(compiled), change.git("rev-parse", "HEAD"))
    elif arguments:
        files = [os.path.normpath(a) for a in arguments]
        wrong = [path for path in files if path not in compiled]
        if wrong:
            sys.exit(f"relay: Bazel compiles no {', '.join(wrong)}: name .cc files from the root of the checkout, or say --all")
    else:
        files, unseen = files_of(changed_files(), compiled, includers)
        for header in unseen:
            print(f"relay: no file includes {header}, so clang-tidy has not seen it", file=sys.stderr)
    began = time.monotonic()
    count = run(files, jobs)
    print(f"clang-tidy: {len(files)} files, {count} findings, {time.monotonic() - began:.0f} s", file=sys.stderr)
    if count:
        sys.exit("relay: clang-tidy has findings, above: mend them, or say `// NOLINT(check): why` where one is wrong")


if __name__ == "__main__":
    main()
