#!/usr/bin/python3
"""Writes compile_commands.json from what Bazel would run. Usage: tools/compile_commands.py [bazel flags]"""

import json
import os
import subprocess
import sys

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def bazel(*args):
    return subprocess.run(
        ["bazel", *args], cwd=root, check=True, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True).stdout


flags = sys.argv[1:]
base = bazel("info", "output_base").strip()
graph = json.loads(bazel(
    "aquery", *flags, "--output=jsonproto", "--include_artifacts=false",
    'mnemonic("CppCompile", //...)'))
commands = {}
for action in graph["actions"]:
    args = action["arguments"]
    source = args[args.index("-c") + 1]
    if source.startswith("external/"):
        continue
    if "-Werror" not in args:
        sys.exit("relay: warnings are no errors in %s: mend --per_file_copt in .bazelrc" % source)
    args = [a.replace("external/", base + "/external/", 1) if a.startswith("external/") else a for a in args]
    # Flags clang does not know, outputs that do not matter, and what makes errors of warnings that only clang has.
    args = [a for a in args if a not in ("-fno-canonical-system-headers", "-Wno-free-nonheap-object",
                                         "-Wunused-but-set-parameter", "-Wno-restrict", "-Werror")]
    # clang cannot read GCC's precompiled headers (bazel/precompiled.bzl).
    for flag in ("-MF", "-o", "-include"):
        while flag in args:
            i = args.index(flag)
            del args[i:i + 2]
    args = [a for a in args if a not in ("-MD", "-Winvalid-pch")]
    commands[source] = {"directory": root, "file": source, "arguments": args}
with open(os.path.join(root, "compile_commands.json"), "w") as f:
    json.dump(sorted(commands.values(), key=lambda c: c["file"]), f, indent=1)
print("compile_commands.json: %d files" % len(commands))
