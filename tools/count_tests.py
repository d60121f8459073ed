#!/usr/bin/python3
"""Says how many tests passed, failed and were skipped, and why those were. Usage: count_tests.py EVENTS...

Bazel counts test targets; this counts every TEST of GoogleTest in them, and what unittest skips, whether the target ran or its
result was cached. EVENTS are files written by `bazel test --build_event_json_file`. A skip that skips.toml does not allow fails.
"""

import collections
import json
import pathlib
import re
import sys
import tomllib
import urllib.parse
import xml.etree.ElementTree

SKIPS = pathlib.Path(__file__).resolve().parent / "skips.toml"
NOT_SAID = "its log has no reason: unittest says reasons with `unittest.main(verbosity=2)`"


def main():
    passed, failed, skipped = 0, [], []
    for path in sys.argv[1:]:
        for target in read_targets(path).values():
            p, f, s = count(target)
            passed += p
            failed += f
            skipped += s

    reasons = collections.defaultdict(list)
    for name, reason in skipped:
        reasons[reason].append(name)
    for reason, names in sorted(reasons.items()):
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        print("skipped %d (%s): %s" % (len(names), shown, reason))
    for name in failed:
        print("failed %s" % name)
    if not (passed or failed or skipped):
        print("no test matched")
    wrong = not_allowed(reasons, tomllib.loads(SKIPS.read_text(encoding="utf-8"))["skip"])
    for line in wrong:
        print(line)
    print("%d passed, %d failed, %d skipped" % (passed, len(failed), len(skipped)))
    sys.exit(0 if (passed or skipped) and not failed and not wrong else 1)


def not_allowed(reasons, allowed):
    """What is wrong with these skips: a reason that is not on the list, or more tests than it says."""
    wrong, counts = [], collections.Counter()
    for reason, names in sorted(reasons.items()):
        entry = next((i for i, e in enumerate(allowed) if re.fullmatch(e["reason"], reason, re.DOTALL)), None)
        if entry is None:
            wrong.append("not allowed: %s: tools/skips.toml has no such reason to skip: %s" % (names[0], reason))
        else:
            counts[entry] += len(names)
    for i, count in sorted(counts.items()):
        if count > allowed[i]["most"]:
            wrong.append("not allowed: %d tests are skipped for `%s`; tools/skips.toml allows %d"
                         % (count, allowed[i]["reason"], allowed[i]["most"]))
    return wrong


def read_targets(path):
    """label -> {"label", "status", "results"} of every test target that was asked for."""
    targets = {}
    with open(path, encoding="utf-8") as file:
        for event in map(json.loads, file):
            kind, id_ = next(iter(event["id"].items()))
            if kind == "targetConfigured" and "testSize" in event.get("configured", {}):
                targets[id_["label"]] = {"label": id_["label"], "status": "NO_STATUS", "results": {}}
            elif kind == "targetCompleted" and id_["label"] in targets:
                if event.get("aborted", {}).get("reason") == "SKIPPED":
                    targets[id_["label"]]["status"] = "SKIPPED"
                elif "completed" in event and not event["completed"].get("success"):
                    targets[id_["label"]]["status"] = "FAILED_TO_BUILD"
                elif not any("testSummary" in child for child in event.get("children", [])):
                    del targets[id_["label"]]  # built, but its tags keep it out of this run
            elif kind == "testResult":  # of each shard, the last attempt counts
                # A run that was interrupted says of a shard only that it was.
                result = event.get("testResult", {"status": "ABORTED"})
                targets[id_["label"]]["results"][id_.get("shard", 1)] = result
                targets[id_["label"]]["status"] = "RAN"
    return targets


def count(target):
    """-> (number of passed, names of failed, (name, reason) of skipped)"""
    if target["status"] != "RAN":
        return 0, ["%s: %s" % (target["label"], target["status"].lower().replace("_", " "))], []
    total = [0, [], []]
    for result in target["results"].values():
        for i, part in enumerate(count_result(target["label"], result)):
            total[i] += part
    return total


def count_result(label, result):
    files = {f["name"]: urllib.parse.unquote(urllib.parse.urlparse(f["uri"]).path)
             for f in result.get("testActionOutput", []) if "uri" in f}
    cases = read_gtest_xml(files.get("test.xml"))
    if cases is None:  # killed half-way, or not of GoogleTest: then the target itself is the test
        log = read_text(files.get("test.log"))
        cases = read_log(log, files.get("test.log")) or [(label, result["status"].lower(), ""), *read_unittest(label, log)]
    passed = [name for name, verdict, _ in cases if verdict == "passed"]
    failed = ["%s %s" % (label, name) for name, verdict, _ in cases if verdict == "failed"]
    skipped = [(name, reason) for name, verdict, reason in cases if verdict == "skipped"]
    if result["status"] == "PASSED":
        return len(passed), failed, skipped
    return len(passed), failed or ["%s: %s" % (label, result["status"].lower())], skipped


def read_gtest_xml(path):
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, TypeError, xml.etree.ElementTree.ParseError):
        return None
    if root.get("name") != "AllTests":  # written by Bazel on behalf of a test that wrote none
        return None
    cases = []
    for case in root.iter("testcase"):
        name = "%s.%s" % (case.get("classname"), case.get("name"))
        if case.get("status") != "run":
            cases.append((name, "skipped", "disabled"))
        elif case.find("failure") is not None:
            cases.append((name, "failed", ""))
        elif case.find("skipped") is not None:
            message = case.find("skipped").get("message", "")
            cases.append((name, "skipped", message.partition("\n")[2].strip() or "no reason given"))
        else:
            cases.append((name, "passed", ""))
    return cases


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except (OSError, TypeError):
        return ""


def read_log(log, path):
    words = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
    ends = dict((name, words[word]) for word, name in re.findall(r"\[ +(OK|FAILED|SKIPPED) +\] (\w[\w/]*\.[\w/]+)", log))
    return [(name, ends.get(name, "failed"), "see " + path)
            for name in re.findall(r"^\[ RUN      \] (\S+)$", log, re.MULTILINE)]


def read_unittest(label, log):
    """The tests that unittest skipped: its last line counts them, and a verbose one has their reasons."""
    counts = [int(n) for n in re.findall(r"^(?:OK|FAILED) \((?:\w[\w ]*=\d+, )*skipped=(\d+)", log, re.MULTILINE)]
    reasons = [said for _, said in re.findall(r"\.\.\. skipped (['\"])(.*)\1$", log, re.MULTILINE)]
    reasons += [NOT_SAID] * (sum(counts) - len(reasons))
    return [(label, "skipped", reason) for reason in reasons]


if __name__ == "__main__":
    main()
