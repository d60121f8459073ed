#!/usr/bin/python3
"""Prints the assertions that a change removes. Usage: removed_assertions.py [BASE]

The change is the working tree, compared with BASE: the merge base of HEAD and main unless said otherwise. A line counts if
it asserts something, begins a test or is a call of an exec test, and if the change adds it nowhere again, so that moving a
test is free. A deleted golden or exec file counts as a whole. Nothing fails: a commit that removes an assertion says so in
its subject (docs/testing.md), and its reader looks at this list.
"""

import collections
import re
import sys

import change

CODE = re.compile(r"\b((EXPECT|ASSERT)_[A-Z_]+|ADD_FAILURE|FAIL|TEST(_F|_P)?)\s*\(|\b(refused|works)\(|\bstatic_assert\b")
PYTHON = re.compile(r"\bself\.(assert\w+|fail)\(|^\s*assert\b|^\s*def test_")
CALL = re.compile(r"^\s*@\w+\(.*\)\s*(==|~|(agrees|traps|rejected|exhausts)\b)")
TEST_FILE = re.compile(r"(^|/)tests/|_test\.(cc|py)$|/testing\.h$")


def asserts(path, line):
    """Does the line of that file assert something?"""
    if not TEST_FILE.search(path):
        return False
    if path.endswith((".cc", ".h")):
        return bool(CODE.search(line))
    if path.endswith(".py"):
        return bool(PYTHON.search(line))
    return path.endswith(".relay") and bool(CALL.search(line))


def normal(line):
    """What an edit of layout leaves as it was."""
    return re.sub(r"\s+", " ", line).strip()


def changes(diff):
    """Of a diff without context: (removed, added) lines as (path, line), and the paths of deleted files."""
    removed, added, deleted = [], [], []
    before = after = None
    in_hunk = False
    for line in diff.splitlines():
        if line.startswith("diff --git "):
            before = after = None
            in_hunk = False
        elif not in_hunk and line.startswith("--- "):
            before = line[6:] if line.startswith("--- a/") else None
        elif not in_hunk and line.startswith("+++ "):
            after = line[6:] if line.startswith("+++ b/") else None
            if after is None and before is not None:
                deleted.append(before)
        elif not in_hunk and line.startswith("rename from "):
            before = line[len("rename from "):]
        elif not in_hunk and line.startswith("rename to "):
            # A must-fail test under another kind of name asserts something else.
            name, to = before.rsplit("/", 1)[-1], line[len("rename to "):]
            if name.startswith("fail_") and not to.rsplit("/", 1)[-1].startswith("fail_") or not TEST_FILE.search(to):
                deleted.append(before)
        elif line.startswith("@@ "):
            in_hunk = True
        elif in_hunk and line.startswith("-"):
            removed.append((before, line[1:]))
        elif in_hunk and line.startswith("+"):
            added.append((after, line[1:]))
    return removed, added, deleted


def removed_assertions(diff, new_files=()):
    """The lines to print. `new_files` are (path, text) of files that the diff does not know."""
    removed, added, deleted = changes(diff)
    added += [(path, line) for path, text in new_files for line in text.splitlines()]
    left = collections.Counter(normal(line) for path, line in added if asserts(path, line))
    out = [f"{path}: deleted" for path in deleted if TEST_FILE.search(path) and path.endswith(".relay")]
    for path, line in removed:
        if not asserts(path, line):
            continue
        if left[normal(line)] > 0:
            left[normal(line)] -= 1
        elif path not in deleted or not path.endswith(".relay"):
            out.append(f"{path}: {normal(line)}")
    return out


def main():
    base = sys.argv[1] if len(sys.argv) > 1 else change.base_of_change()
    diff = change.git("diff", "--no-color", "--no-ext-diff", "--find-renames", "--unified=0", "--src-prefix=a/",
               "--dst-prefix=b/", base, "--")
    new_files = []
    for path in change.new_files():
        if TEST_FILE.search(path) and path.endswith((".cc", ".h", ".py", ".relay")):
            with open(path, encoding="utf-8", errors="replace") as file:
                new_files.append((path, file.read()))
    found = removed_assertions(diff, new_files)
    if found:
        print(f"assertions that the change since {base[:12]} removes (its commits say so in their subjects):")
        for line in found:
            print("  " + line)


if __name__ == "__main__":
    main()
