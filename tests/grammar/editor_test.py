#!/usr/bin/python3
"""The editor's grammar colours what the language has: its words are those of docs/grammar.ebnf, and every token of every
program of the tests is of some kind."""

import json
import pathlib
import re
import unittest

import ebnf
import programs

GRAMMAR = json.loads(pathlib.Path("docs/editor/relay.tmLanguage.json").read_text(encoding="utf-8"))
REPOSITORY = GRAMMAR["repository"]


def rules(names, seen=()):
    """The rules behind a list of includes, in the order they are tried."""
    for name in names:
        rule = REPOSITORY[name["include"][1:]] if "include" in name else name
        if "patterns" in rule and "begin" not in rule:
            yield from rules(rule["patterns"])
        else:
            yield rule


RULES = [(re.compile(r.get("match", r.get("begin"))), r) for r in rules(GRAMMAR["patterns"])]


def words_of(group):
    """The words that the rules of a group list."""
    return {w for r in REPOSITORY[group]["patterns"] for w in re.findall(r"[A-Za-z_]{2,}", r["match"])}


def kind(text):
    """The scope of the rule that takes the text whole, in the way an editor would: the first that matches."""
    for pattern, rule in RULES:
        found = pattern.match(text)
        if found and found.group():
            whole = found.end() == len(text) or "end" in rule
            return rule["name"] if whole else None
    return None


class EditorTest(unittest.TestCase):
    def test_includes_lead_somewhere(self):
        names = re.findall(r'"include": "#(\w+)"', json.dumps(GRAMMAR))
        self.assertEqual(sorted(set(names) - set(REPOSITORY)), [])
        self.assertEqual(sorted(set(REPOSITORY) - set(names)), [])

    def test_keywords_are_those_of_the_language(self):
        only_in_places = {"None", "nullptr", "kernel", "import", "match_shape"}  # other words elsewhere
        coloured = words_of("keywords") - only_in_places
        self.assertEqual(sorted(coloured), sorted(ebnf.KEYWORDS))

    def test_every_token_has_a_kind(self):
        seen = {token for _, text in programs.inputs() if "/fail_" not in _ for token in ebnf.tokens(text)}
        plain = sorted(t for k, t in seen if k != "json" and t != "#[" and kind(t) is None and not re.fullmatch(r"[a-z_][\w/]*|`.*`", t))
        self.assertEqual(plain, [])
        self.assertGreater(len(seen), 500)

    def test_kinds(self):
        for text, scope in (("%x", "variable.other.local"), ("%0", "variable.other.graph"), ("@main", "entity.name.function"),
                            ("float32", "storage.type.dtype"), ("Tensor", "support.type.tensor"), ("match?", "keyword.control"),
                            ("1.5e-3f16", "constant.numeric"), ("0x3f", "constant.numeric"), ('"a\\"b"', "string"),
                            ("Cons", "entity.name.type"), ('#[version = "0.0.5"]', "meta.preprocessor"), ("meta[a.B][1]", "support.constant"),
                            ("=>", "keyword.operator"), ("/* a /* b */ */", "comment.block")):
            self.assertTrue((kind(text) or "").startswith(scope), f"{text}: {kind(text)}")


if __name__ == "__main__":
    unittest.main()
