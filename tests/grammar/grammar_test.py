#!/usr/bin/python3
"""Holds docs/grammar.ebnf against the parser: both must say the same of every text, well formed or not."""

import pathlib
import random
import re
import subprocess
import tempfile
import unittest

import ebnf
import programs

MOST_TOKENS = 400  # of a program that is read with the grammar: its algorithm is simple and slow
DAMAGED = 500
RULES = ebnf.Rules(pathlib.Path("docs/grammar.ebnf").read_text(encoding="utf-8"))


SYNTAX = re.compile(r"expected-|missing-(?:comma|semicolon|else|result|dtype|sigil)|un(?:closed-bracket|finished-list|ary-minus)|mismatched-bracket|"
                    r"m(?:isplaced-version|alformed-number)|trailing-text|dims-without|dim-not-integer|argument-after|keyword-as-name|"
                    r"unknown-(?:suffix|dtype)")


def parser_says(text):
    """The slugs that the parser reports: those of syntax, and those of names and types, which are none of the grammar's."""
    with tempfile.NamedTemporaryFile("w", suffix=".relay", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        ended = subprocess.run(["tools/relay", "fmt", file.name], capture_output=True, text=True, timeout=60)
    assert ended.returncode in (0, 3), ended.stderr
    slugs = re.findall(r"(?:error|warning): .*\[([a-z-]+)\]$", ended.stderr, re.M)
    return [s for s in slugs if SYNTAX.match(s)], [s for s in slugs if not SYNTAX.match(s)]


def text_of(sentence):
    return " ".join(text for _, text in sentence if text != "#[metadata]")


def damaged(rng, sentence, others):
    """One token less, twice, exchanged with its neighbour or in the place of another."""
    s, i = list(sentence), rng.randrange(len(sentence))
    kind = rng.randrange(4)
    if kind == 0:
        del s[i]
    elif kind == 1:
        s.insert(i, s[i])
    elif kind == 2 and i + 1 < len(s):
        s[i], s[i + 1] = s[i + 1], s[i]
    else:
        s[i] = rng.choice(others)
    return s


class GrammarTest(unittest.TestCase):
    maxDiff = None

    def test_has_every_program_that_parses(self):
        seen = 0
        for path, text in programs.inputs():
            if "/fail_" in path and "typecheck" not in path:
                continue
            sentence = ebnf.tokens(text)
            if len(sentence) > MOST_TOKENS:
                continue
            seen += 1
            wrong = RULES.has(sentence)
            if wrong is not None:
                self.fail(f"{path}: the grammar stops before {text_of(sentence[wrong:wrong + 8])!r}")
        self.assertGreater(seen, 400)

    def test_says_what_the_parser_says_of_damaged_programs(self):
        sentences = [s for s in (ebnf.tokens(t) for p, t in programs.inputs() if "/fail_" not in p) if 10 < len(s) < 120]
        everything = sorted({t for s in sentences for t in s})
        rng = random.Random(20)
        refused, differ = 0, []
        for _ in range(DAMAGED):
            sentence = damaged(rng, rng.choice(sentences), everything)
            try:
                sentence = ebnf.tokens(text_of(sentence))  # neighbours may make one token now
            except ebnf.NotAToken:
                continue
            has, (slugs, others) = RULES.has(sentence) is None, parser_says(text_of(sentence))
            refused += not has
            # Of several mistakes in one statement the parser reports the first, which may be one of names.
            if slugs if has else not slugs and not others:
                differ.append(f"grammar {'has' if has else 'has not'}, parser {slugs}: {text_of(sentence)}")
        self.assertEqual(differ[:10], [], f"{len(differ)} of {DAMAGED}")
        self.assertGreater(refused, DAMAGED // 2)


if __name__ == "__main__":
    unittest.main()
