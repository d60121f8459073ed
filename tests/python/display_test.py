#!/usr/bin/python3
"""What a notebook shows: `_repr_html_`, in which every text is escaped."""

import html.parser
import re
import unittest

import numpy as np

import relay

EVIL = '<script>alert("x")</script>&'
# Names of inputs may be anything; a quoted name of the language shows it.
TEXT = """type Tree[T] { Leaf, Node(Tree[T], T) }
def @main(%x: Tensor[(2), float32]) { nn.relu(add(%x, 1f)) }"""


class Reader(html.parser.HTMLParser):
    """The tags and the text of a page, which must close what it opens."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(text)
        self.close()
        assert self.open == [], self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data


def shown(value):
    return Reader(value._repr_html_())


class DisplayTest(unittest.TestCase):
    def setUp(self):
        self.model = relay.parse(TEXT)
        self.x = np.ones(2, np.float32)

    def test_modules_and_types(self):
        page = shown(self.model)
        self.assertIn("@main", page.text)
        self.assertIn("fn(Tensor[(2), float32]) -> Tensor[(2), float32]", page.text)
        self.assertIn("Tree[T]", page.text)
        self.assertIn("Leaf | Node(Tree[T], T)", page.text)
        self.assertIn("nn.relu(", page.text)
        self.assertIn("table", page.tags)
        self.assertIn("nn.relu(", shown(self.model["main"]).text)
        self.assertIn("Leaf", shown(self.model.types["Tree"]).text)
        last = self.model.expressions()[-1]
        self.assertIn("nn.relu", shown(last).text)
        self.assertIn("float32", shown(last.type).text)

    def test_reports(self):
        report = relay.verify(self.model, self.x, engines=["jit"], levels=[1], expected=self.x)
        page = shown(report)
        self.assertIn("agrees", page.text)
        self.assertIn("differs", page.text)
        self.assertIn("theirs 1, ours 2", page.text)
        text = report._repr_html_()
        self.assertIn('<th style="text-align: right">needed</th>', text)  # above numbers, which are on the right
        self.assertIn('<th style="text-align: left">engine</th>', text)
        self.assertIn('<b style="color: #cf222e">differs</b>', text)
        recursive = relay.parse("""def @main(%n: int64) -> int64 {
          if (equal(%n, 0i64)) { %n } else { @main(subtract(%n, 1i64)) }
        }""")
        skipped = relay.verify(recursive, 1, engines=["graph"], levels=[0])._repr_html_()
        self.assertIn("skipped</b>", skipped)
        self.assertNotIn('<td style="text-align: right', skipped)  # it has no numbers
        page = shown(self.model.run(["simplify-inference", lambda m: m]).report)
        self.assertIn("simplify-inference", page.text)
        self.assertIn("<lambda>", page.text)

    def test_sessions(self):
        page = shown(relay.debug(self.model, self.x).step())
        self.assertIn("`add`", page.text)
        self.assertIn("float32[2]", page.text)

    def test_texts_have_a_fixed_width(self):
        for value in (self.model, self.model["main"], relay.debug(self.model, self.x).step()):
            texts = re.findall("<pre[^>]*>", value._repr_html_())
            self.assertTrue(texts and all("monospace" in pre for pre in texts), texts)

    def test_texts_of_users_are_escaped(self):
        def my_pass(module):
            return module

        my_pass.__name__ = EVIL
        page = shown(self.model.run([my_pass]).report)
        self.assertIn(EVIL, page.text)
        self.assertNotIn("script", page.tags)
        named = relay.parse('def @main(%`<b>`: int64) { add(%`<b>`, 1i64) }')
        self.assertNotIn("b", shown(named).tags)
        self.assertIn("<b>", shown(named).text)

    def test_long_texts_are_cut(self):
        body = "".join(f"let %x{i} = add(%x{i - 1}, 1f);\n" for i in range(1, 1000))
        page = shown(relay.parse(f"def @main(%x0: Tensor[(2), float32]) {{ {body} %x999 }}"))
        self.assertIn("more lines", page.text)
        self.assertLess(page.text.count("\n"), 600)


if __name__ == "__main__":
    unittest.main()
