#!/usr/bin/python3
"""The pages: each is in the index once, links lead somewhere, and the files that pages and comments name are there."""

import os
import re
import unittest

import sources

INDEX = "docs/README.md"
FEWEST_PAGES = 20
FEWEST_LINKS, FEWEST_NAMES, FEWEST_IN_COMMENTS = 90, 140, 300

# Files that a page tells its reader to make: they are not here, and the page says so.
MADE = {
    "op/nn/gelu.cc",
    "passes/drop_casts.cc",
    "tests/exec/op/nn.gelu.relay",
    "tests/golden/passes/drop_casts.relay",
    "tests/golden/typecheck/fail_nn.gelu_c1.relay",
}
# Names of a user's files.
OF_USERS = {"attention.py", "model.cc", "model.h", "program.c", "x.h", "x.py"}

# Names in comments that are those of files which a compiler or an artifact has.
OF_OUTPUT = {"a.h", "k.cc", "kernels_0.cc"}

CODE = (".bzl", ".cc", ".h", ".inc", ".py")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def pages():
    return sources.files(".md")


def without_blocks(text):
    """The text without fenced blocks, whose lines stay empty."""
    inside, out = False, []
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        out.append("" if inside or fence else line)
        inside ^= fence
    return "\n".join(out)


def links(page):
    """What a page links to beside addresses of the web; code spans hold no links."""
    text = re.sub(r"(`+)[^`].*?\1", "", without_blocks(sources.read(page)))
    return [to for to in LINK.findall(text) if not re.match(r"[a-z]+:", to)]


def target_of(page, link):
    path = link.partition("#")[0]
    return os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    out = set()
    for title in re.findall(r"^#+ (.*)$", without_blocks(sources.read(page)), re.M):
        anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        while anchor in out:
            anchor += "-1"
        out.add(anchor)
    return out


def named(page):
    """What code spans of a page name, and the words of its blocks of commands."""
    text = sources.read(page)
    out = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", without_blocks(text))
    kind = None  # of the block around the line
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            kind = line.strip("` ").partition(" ")[0] if kind is None else None
        elif kind in ("", "sh", "console"):
            out += [word.strip("'\"") for word in line.split() if "/" in word]  # other names are of a user's files
    return out


class Files:
    """What there is in the checkout, and which names are meant to be of it."""

    def __init__(self):
        self.paths = set(sources.files(""))
        self.folders = {os.path.dirname(p) for p in self.paths}
        self.folders |= {up for f in self.folders for up in self.above(f)}
        self.names = {os.path.basename(p) for p in self.paths}
        self.top = {p.split("/")[0] for p in self.paths if "/" in p}

    @staticmethod
    def above(folder):
        while "/" in folder:
            folder = folder.rsplit("/", 1)[0]
            yield folder

    def is_one(self, name):
        """Does the name look like a file or folder of the checkout?"""
        if not re.fullmatch(r"(//)?\w[\w.+-]*(/[\w.+-]+)*/?(:\w+)?", name) or re.search(r"\b(NAME|X)\b|NAME_", name):
            return False
        if "/" in name:
            return name.removeprefix("//").split("/")[0] in self.top
        return name.endswith(CODE) and name == name.lower() and name not in OF_USERS

    def has(self, name, page):
        path, _, target = name.removeprefix("//").rstrip("/").partition(":")
        if "/" not in path and path not in self.top:
            return path in self.names
        if not target and path.endswith("_test"):
            path, target = path.rsplit("/", 1)
        if target and not self.is_target(path, target):
            return False
        return any(p in self.paths or p in self.folders
                   for p in (path, os.path.normpath(os.path.join(os.path.dirname(page), path))))

    def is_target(self, folder, name):
        build = folder + "/BUILD"
        if build not in self.paths:
            return False
        return name == "all" or f'name = "{name}"' in sources.read(build) or f"{folder}/{name}.cc" in self.paths


class PagesTest(unittest.TestCase):
    def test_every_page_is_in_the_index_once(self):
        here = [p for p in pages() if p.startswith("docs/") and p != INDEX] + ["docs/grammar.ebnf"]
        self.assertGreater(len(here), FEWEST_PAGES)
        listed = [target_of(INDEX, link) for link in links(INDEX) if target_of(INDEX, link).startswith("docs/")]
        self.assertEqual(sorted(here), sorted(listed), f"{INDEX} lists each page of docs/ once")

    def test_links_lead_somewhere(self):
        wrong, count = [], 0
        for page in pages():
            for link in links(page):
                count += 1
                target, anchor = target_of(page, link), link.partition("#")[2]
                if not (sources.ROOT / target).exists():
                    wrong.append(f"{page}: {link}: there is no {target}")
                elif anchor and anchor not in anchors(target):
                    wrong.append(f"{page}: {link}: {target} has no heading of that name")
        self.assertEqual(wrong, [])
        self.assertGreater(count, FEWEST_LINKS)

    def test_files_that_pages_name_are_there(self):
        files, wrong, count = Files(), [], 0
        for page in pages():
            for name in named(page):
                if not files.is_one(name) or name in MADE:
                    continue
                count += 1
                if not files.has(name, page):
                    wrong.append(f"{page}: there is no {name}")
        self.assertEqual(wrong, [])
        self.assertGreater(count, FEWEST_NAMES)

    def test_sources_that_comments_name_are_there(self):
        paths, wrong, count = set(sources.files("")), [], 0
        ends = {path[i:] for path in paths for i in range(len(path)) if i == 0 or path[i - 1] == "/"}
        for path in sources.files(".h", ".cc"):
            for comment in re.findall(r"^ *//(.*)$", sources.read(path), re.M):
                for name in re.findall(r"(?<![\w/.<])([a-z_][\w/]*\.(?:h|cc))\b", comment):
                    count += 1
                    beside = f"{os.path.dirname(path)}/{name}"
                    if "NAME" not in name and name not in OF_OUTPUT and name not in ends and beside not in paths:
                        wrong.append(f"{path}: there is no {name}")
        self.assertEqual(wrong, [])
        self.assertGreater(count, FEWEST_IN_COMMENTS)

    def test_slugs_that_pages_name_are_reported(self):
        """`[unknown-operator]` in a page is a message of ours: docs/diagnostics.md shows it."""
        known = set(re.findall(r"^## (\S+)$", sources.read("docs/diagnostics.md"), re.M))
        said = {(page, slug) for page in pages() for slug in re.findall(r"`\[([a-z-]+)\]`", sources.read(page))}
        self.assertGreaterEqual(len(said), 5)
        self.assertEqual(sorted(f"{page}: [{slug}]" for page, slug in said if slug not in known), [])

    def test_what_readers_make_is_not_here(self):
        self.assertEqual([p for p in sorted(MADE) if (sources.ROOT / p).exists()], [])
        said = {name for page in pages() for name in named(page)}
        self.assertEqual(sorted(MADE - said), [], "no page tells anybody to make these")

    def test_this_test_finds_what_is_wrong(self):
        files = Files()
        for name in ("passes/no_such_pass.cc", "no_such_file.cc", "tests/nowhere", "//tests/nowhere:test",
                     "tests/arch:no_test", "tests/arch/no_test"):
            self.assertTrue(files.is_one(name), name)
            self.assertFalse(files.has(name, INDEX), name)
        for name in ("passes/runner.cc", "runner.cc", "tests/exec", "//tests/exec:exec", "pattern/",
                     "tests/arch/pages_test", "tests/cli:help_test"):
            self.assertTrue(files.is_one(name) and files.has(name, INDEX), name)
        for name in ("x.npz", "a/b", "op/<family>/<file>.cc", "float32", "NAME.h", ".cc", "tests/exec/op/NAME.relay"):
            self.assertFalse(files.is_one(name), name)
        self.assertIn("how-far-an-engine-may-be-away", anchors("docs/semantics.md"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
