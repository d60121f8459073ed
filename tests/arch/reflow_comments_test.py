#!/usr/bin/python3
"""Comments that are too wide are reflowed, and nothing else is touched (tools/reflow_comments.py)."""

import importlib.util
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

import sources

SCRIPT = sources.ROOT / "tools/reflow_comments.py"
spec = importlib.util.spec_from_file_location("reflow_comments", SCRIPT)
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)

WORDS = "the caller owns what a tensor holds until the kernel that reads it has run and nothing else refers to it".split()


def words(columns):
    """Words that take so many columns, blanks between them included."""
    text = " ".join(WORDS * 3)[:columns]
    return text[:-1] + "x" if text.endswith(" ") else text


def code_of(text):
    """The text without comments and white space."""
    return re.sub(r"\s+", "", script.TOKEN.sub(lambda m: "" if m["comment"] else m[0], text))


def words_of_comments(text):
    return " ".join(comment.lstrip("/-") for _, _, comment in script.comments_of(text)).replace("-", "").split()


class ReflowTest(unittest.TestCase):
    def reflowed(self, text):
        """The text after reflowing, which must be the same after reflowing again."""
        after = script.reflow(text)
        self.assertEqual(script.reflow(after), after)
        return after

    def stays(self, text):
        self.assertEqual(self.reflowed(text), text)

    def test_prose_is_filled_to_100_columns(self):
        text = f"// {words(120)}\n// and {words(40)}\nint x;\n"
        lines = self.reflowed(text).split("\n")
        self.assertEqual([len(line) <= 100 for line in lines], [True] * 4)
        self.assertEqual(lines[2:], ["int x;", ""])
        self.assertEqual(words_of_comments("\n".join(lines)), words_of_comments(text))

    def test_prose_within_100_columns_stays(self):
        self.stays(f"// {words(97)}\n// {words(30)}\n//\n// {words(97)}\nint x;\n")

    def test_what_stands_before_the_wide_line_stays(self):
        first = f"// {words(95)}\n"
        self.assertTrue(self.reflowed(first + f"// {words(110)}\n").startswith(first))

    def test_paragraphs_stay_apart(self):
        self.assertEqual(self.reflowed(f"// First.\n//\n// {'word ' * 24}\n//\n// Last.\n"),
                         f"// First.\n//\n// {'word ' * 18}word\n// {'word ' * 4}word\n//\n// Last.\n")

    def test_a_line_that_ends_early_keeps_its_end(self):
        self.assertEqual(self.reflowed(f"// Short.\n// {'word ' * 20}word\n// Short, too.\n// The end.\n"),
                         f"// Short.\n// {'word ' * 18}word\n// word word Short, too.\n// The end.\n")

    def test_the_last_line_is_not_one_short_word(self):
        lines = self.reflowed(f"// {'word ' * 19}end.\n").split("\n")
        self.assertEqual([len(lines), lines[1][-4:]], [3, "end."])
        self.assertGreaterEqual(len(lines[1]), 3 + script.SHORT)

    def test_indentation_counts(self):
        lines = self.reflowed(f"  void f() {{\n      // {words(110)}\n  }}\n").split("\n")
        self.assertEqual([line[:9] for line in lines[1:3]], ["      // "] * 2)
        self.assertLessEqual(max(map(len, lines)), 100)

    def test_characters_count_and_not_bytes(self):
        self.stays(f"// {'ä' * 40} {'ö' * 56}\n")

    def test_items_keep_their_marks_and_hang(self):
        for mark in ("* ", " * ", "- ", "1. ", "12) "):
            lines = self.reflowed(f"// These:\n// {mark}{'word ' * 20}\n// {mark}short\n").split("\n")
            self.assertEqual(lines[0], "// These:")
            self.assertRegex(lines[1], r"^// " + re.escape(mark) + "word")
            self.assertRegex(lines[2], r"^// " + " " * len(mark) + "word")
            self.assertEqual(lines[3:], [f"// {mark}short", ""])

    def test_items_are_filled_with_their_further_lines(self):
        self.assertEqual(self.reflowed(f"//  * {'word ' * 20}word,\n//      other\n// After.\n"),
                         f"//  * {'word ' * 18}word\n//      word word, other\n// After.\n")

    def test_no_line_begins_with_what_reads_as_a_mark(self):
        for mark in ("-", "*", "=", "3.", "C2:", "take(x)", "(Tensor[s,"):
            after = self.reflowed(f"// {words(88)} word {mark} {words(30)}\n")
            self.assertNotIn("\n// " + mark, after)

    def test_constraints_get_a_line_each(self):
        self.assertEqual(
            self.reflowed(f"//   C1: {'word ' * 10}here.   C2: {'word ' * 10}there.   C3: more\n//       of it.\nint x;\n"),
            f"//   C1: {'word ' * 10}here.\n//   C2: {'word ' * 10}there.\n//   C3: more of it.\nint x;\n")

    def test_constraints_that_fit_stay(self):
        self.stays("//   C1: one.   C2: two.\n//   C3: three,\n//   and its second line.\n")

    def test_a_constraint_keeps_its_further_lines(self):
        self.assertEqual(self.reflowed(f"// C1: {'word ' * 20}\n// and more.\nint x;\n"),
                         f"// C1: {'word ' * 17}word\n// word word and more.\nint x;\n")

    def test_a_signature_is_parted_from_its_constraints(self):
        signature = "(Tensor[s, d], Tensor[(), d]) -> Tensor[s, d]"
        self.assertEqual(self.reflowed(f"//   {signature}   C1: {words(30)}   C2: {words(30)}\n"),
                         f"//   {signature}\n//   C1: {words(30)}\n//   C2: {words(30)}\n")

    def test_rulers_lose_dashes(self):
        self.assertEqual(self.reflowed(f"  // --- Values {'-' * 99}\n"), f"  // --- Values {'-' * 84}\n")
        self.stays(f"// --- Values {'-' * 50}\n")

    def test_what_is_set_off_stays(self):
        for line in (f"   {words(110)}", f"   y[i] = {words(110)}", f" | {words(110)} |", f" {words(50)}   {words(60)}",
                     f" nn.f(x)[i] = {words(100)}", f" nn.f(x): {words(100)}", f" (Tensor[s, d]) -> {words(100)}",
                     f"{words(110)}", f" {words(110)} NOLINT", f"/ {words(110)}", f"! {words(110)}",
                     " https://" + "x" * 120, " " + "+-" * 60):
            self.stays(f"int x;\n//{line}\nint y;\n")

    def test_the_lines_below_a_formula_belong_to_it(self):
        self.stays(f"// f(x) = {words(100)}\n// {words(105)}\n//\n// g(x) = 1\n")

    def test_comments_behind_code_stay(self):
        self.stays(f"int x;  // {words(110)}\n        // {words(110)}\n")
        self.stays(f"int x = 1;   // {words(110)}\n             // {words(110)}\n             // {words(110)}\n")

    def test_a_comment_below_one_behind_code_is_its_own(self):
        self.assertNotEqual(self.reflowed(f"int x;  // y\n// {words(110)}\n"), f"int x;  // y\n// {words(110)}\n")

    def test_strings_stay(self):
        line = f"// {words(110)}"
        for text in (f'auto x = R"(\n{line}\n)";\n', f'auto x = R"~~(\n)"\n{line}\n)~~";\n', f'auto x = "\\\n{line}\\\n";\n',
                     f'auto x = u8R"(\n{line}\n)";\n', f"/*\n{line}\n*/\n", f"#define X \\\n{line} \\\n  y\n"):
            self.stays(text)

    def test_quotes_do_not_hide_comments(self):
        wide = f"// {words(110)}\n"
        for before in ("int x = 1'000'000;\n", "char c = '\"';\n", 'auto s = "\\"";\n', "char c = '\\'';\n", 'auto s = "//";\n',
                       "// don't\n\n", '/* " */\n', "auto x = 0x1'ff + 'a';\n"):
            self.assertNotEqual(script.reflow(before + wide), before + wide, before)

    def test_regions_without_clang_format_stay(self):
        wide = f"// {words(110)}\n"
        text = f"// clang-format off\n{wide}// clang-format on\n"
        self.stays(text)
        self.assertTrue(self.reflowed(text + "\n" + wide).startswith(text))
        self.assertNotIn(wide, self.reflowed(text + "\n" + wide).removeprefix(text))

    def test_code_between_backticks_stays_together(self):
        after = self.reflowed(f"// {words(90)} word `let %x = add(%y, %z)` {words(20)}\n")
        self.assertIn("`let %x = add(%y, %z)`", after)

    def test_ends_of_lines_stay(self):
        self.stays("// x\r\nint x;\r\n")
        self.stays("// no end of line")

    def test_random_comments_keep_code_and_words(self):
        rng = random.Random(7)
        pieces = [*WORDS, "`a b`", "(x) ->", "f(x)", "-", "*", "1.", "C1:", "  ", "|", "x" * 105, '"', "'", "NOLINT", "= y"]
        starts = ["//", "// ", "//  * ", "//    ", "//   C1: ", "  // ", "int x;  // ", "        // ", "// --- ", "", "x = \"", "R\"("]
        for _ in range(3000):
            text = "\n".join(rng.choice(starts) + " ".join(rng.choices(pieces, k=rng.randint(0, 30)))
                             for _ in range(rng.randint(1, 8))) + "\n"
            after = self.reflowed(text)
            self.assertEqual(code_of(after), code_of(text))
            self.assertEqual(words_of_comments(after), words_of_comments(text))
            self.assertEqual([m for _, m in script.problems(after) if m.startswith("a comment") and "./dev format" in m], [], text)

    def test_all_sources_keep_their_code_and_are_done_in_one_go(self):
        for path in sources.files(".cc", ".h", ".cu"):
            text = sources.read(path)
            after = self.reflowed(text)
            if after != text:
                self.assertEqual(code_of(after), code_of(text), path)
                self.assertEqual(words_of_comments(after), words_of_comments(text), path)


class CheckTest(unittest.TestCase):
    def checked(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.cc"
            path.write_text(text, encoding="utf-8")
            ended = subprocess.run([sys.executable, SCRIPT, "--check", path], capture_output=True, text=True)
            self.assertEqual(path.read_text(encoding="utf-8"), text)
            return ended.returncode, ended.stderr.replace(str(path), "x.cc")

    def test_place_and_remedy(self):
        self.assertEqual(self.checked(f"int x;\n// {words(98)}\n"),
                         (1, "x.cc:2: a comment of 101 columns, at most 100: ./dev format\n"))
        self.assertEqual(self.checked(f"// --- x {'-' * 92}\n"),
                         (1, "x.cc:1: a ruler of 101 columns, at most 100: ./dev format\n"))
        self.assertEqual(self.checked(f"// --- {words(98)} ---\n"),
                         (1, "x.cc:1: a ruler of 109 columns, at most 100: shorten its title\n"))
        self.assertEqual(self.checked(f"//   {words(106)}\n"),
                         (1, "x.cc:1: a formula or table of 111 columns, at most 110: break it by hand\n"))
        self.assertEqual(self.checked(f"int x;  // {words(100)}\n"),
                         (1, "x.cc:1: a line of 111 columns, at most 110: move its comment above it\n"))

    def test_what_fits(self):
        for text in (f"// {words(97)}\n", f"//   {words(105)}\n", f"int x;  // {words(99)}\n", "// https://" + "x" * 120 + "\n",
                     f'auto x = R"(\n// {words(120)}\n)";\n', f"// clang-format off\n// {words(120)}\n// clang-format on\n"):
            self.assertEqual(self.checked(text), (0, ""), text)

    def test_files_are_rewritten_in_place(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.cc"
            path.write_bytes(f"// {words(120)}\r\nint x;\r\n".encode())
            subprocess.run([sys.executable, SCRIPT, path], check=True)
            self.assertEqual(path.read_bytes(), script.reflow(f"// {words(120)}\r\nint x;\r\n").encode())


if __name__ == "__main__":
    unittest.main()
