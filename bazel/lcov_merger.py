#!/usr/bin/python3
"""Stands in for Bazel's Java coverage tools: gcov's JSON to one lcov file.

Called once a test with --coverage_dir, and once a build with --reports_file.
"""

import argparse
import collections
import glob
import gzip
import json
import os
import re


def read_lcov(path, lines):
    source = None
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("SF:"):
                source = line[3:].strip()
            elif line.startswith("DA:") and source:
                number, count = line[3:].split(",")[:2]
                lines[source][int(number)] += int(count)


def read_gcov(path, lines):
    with gzip.open(path) as f:
        data = json.load(f)
    for entry in data["files"]:
        for line in entry["lines"]:
            lines[entry["file"]][line["line_number"]] += line["count"]


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--coverage_dir")
    parser.add_argument("--reports_file")
    parser.add_argument("--output_file", required=True)
    parser.add_argument("--filter_sources", action="append", default=[])
    args, _ = parser.parse_known_args()

    lines = collections.defaultdict(lambda: collections.defaultdict(int))
    if args.reports_file:
        with open(args.reports_file, encoding="utf-8") as f:
            for report in f.read().split():
                if os.path.exists(report):
                    read_lcov(report, lines)
    if args.coverage_dir:
        for path in glob.glob(args.coverage_dir + "/**/*.gcov.json.gz", recursive=True):
            read_gcov(path, lines)

    drop = [re.compile(p + "$") for p in args.filter_sources]
    with open(args.output_file, "w", encoding="utf-8") as out:
        for source in sorted(lines):
            if os.path.isabs(source) or any(p.match(source) for p in drop):
                continue
            out.write("SF:%s\n" % source)
            for number in sorted(lines[source]):
                out.write("DA:%d,%d\n" % (number, lines[source][number]))
            hit = sum(1 for c in lines[source].values() if c)
            out.write("LH:%d\nLF:%d\nend_of_record\n" % (hit, len(lines[source])))


if __name__ == "__main__":
    main()
