"""Reads docs/grammar.ebnf, and says of a text whether the grammar has it (Earley's algorithm)."""

import re

# The rules of the section on tokens are prose for people; these are the same as patterns, in the order they are tried.
# A number after a dot is the index of a projection, so that `%x.0.1` has two of them.
KEYWORDS = set("let fn def if else type match extern free_var ref ref_read ref_write True False meta "
               "tensor const ctor op".split())
SUFFIX = r"(?:i(?:4|8|16|32|64)?|u(?:4|8|16|32|64)?|bf16|f8e4m3|f8e5m2|f(?:16|32|64)?)"
NAME = r"(?:[A-Za-z_](?:/?[A-Za-z0-9_])*|`(?:[^`\\\n]|\\.)*`)"
TOKENS = [
    ("blank", r"[ \t\r\n]+"),
    ("bits", r"0x[0-9a-fA-F]+"),
    ("number", rf"(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|(?:inf|nan)(?={SUFFIX}\b)){SUFFIX}?\b"),
    ("meta", r"meta\[[^\]]*\]\[\d+\]"),
    ("word", r"match\?"),
    ("graph", r"%\d+"),
    ("local", "%" + NAME),
    ("global", "@" + NAME),
    ("word", NAME),
    ("string", r'"(?:[^"\\]|\\.)*"'),
    ("mark", r"#\[|->|=>|<=|>=|==|!=|&&|\|\||//|[][(){};:,.=<>+*/%!?-]"),
]
SCANNER = re.compile("|".join(f"(?P<t{i}>{p})" for i, (_, p) in enumerate(TOKENS)))
DTYPE = re.compile(r"(bool|u?int(4|8|16|32|64)?|float(16|32|64)?|bfloat16|float8_e4m3|float8_e5m2)(x[0-9]+)?")


class NotAToken(Exception):
    """The text has a character that begins no token."""


def tokens(text):
    """(kind, text) of each token. Comments are left out; `//` divides inside the brackets of types and kernels."""
    out, at, arithmetic = [], 0, []
    while at < len(text):
        before = out[-1][1] if out else ""
        if text.startswith("/*", at):
            at = after_comment(text, at)
            continue
        operand = bool(out) and before not in KEYWORDS and (out[-1][0] in ("word", "number") or before in (")", "]"))
        if text.startswith("//", at) and not (any(arithmetic) and operand):
            at = text.find("\n", at) % (len(text) + 1)
            continue
        if before == "." and text[at].isdigit():
            found = re.compile(r"\d+").match(text, at)
            out.append(("number", found.group()))
            at = found.end()
            continue
        if text[at] == "%" and any(arithmetic) and operand:  # a remainder
            out.append(("mark", "%"))
            at += 1
            continue
        found = SCANNER.match(text, at)
        if not found:
            raise NotAToken(f"offset {at}: {text[at:at + 20]!r}")
        kind = TOKENS[int(found.lastgroup[1:])][0]
        if found.group() == "#[" and text.startswith("#[metadata]", at):
            return out + [("metadata", "#[metadata]"), ("json", "")]
        if found.group() in ("(", "[", "{"):
            kernel = found.group() != "(" and "kernel" in [t for _, t in out[last_definition(out):]]
            extents = len(out) > 1 and out[-2][1] == "symbol" and out[-1][0] == "string"
            arithmetic.append(before in ("Tensor", "=") or kernel or extents or (bool(arithmetic) and arithmetic[-1]))
        if found.group() in (")", "]", "}") and arithmetic:
            arithmetic.pop()
        if kind != "blank":
            out.append((kind, found.group()))
        at = found.end()
    return out


def last_definition(out):
    """Where the definition that is being read begins."""
    return max((i for i, (k, t) in enumerate(out) if k == "word" and t in ("def", "type", "kernel")), default=0)


def after_comment(text, at):
    depth = 0
    for found in re.compile(r"/\*|\*/").finditer(text, at):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end()
    return len(text)


# --- the rules --------------------------------------------------------------------------------------------------

class Rules:
    """Productions: name -> list of alternatives, each a tuple of symbols. A symbol is ("rule", name), ("text", text)
    or ("token", kind)."""

    LEXICAL = {"name", "word", "type_name", "local", "graph", "global", "string", "number", "digits", "bits", "meta", "dtype", "json"}

    def __init__(self, page):
        page = re.sub(r"\(\*.*?\*\)", " ", page, flags=re.S)
        page = page[page.index("module     ="):]
        self.alternatives = {}
        self.words = re.findall(r'"[^"]*"|\'[^\']*\'|[A-Za-z_]+|[][(){}|;=,]', page)
        self.at = 0
        while self.at < len(self.words):
            name = self.take()
            self.take("=")
            self.alternatives[name] = self.choice()
            self.take(";")
        used = {s[1] for a in self.alternatives.values() for p in a for s in p if s[0] == "rule"}
        unknown = used - set(self.alternatives)
        assert not unknown, f"rules that are used and not written: {sorted(unknown)}"

    def take(self, wanted=None):
        word = self.words[self.at]
        assert wanted in (None, word), f"expected {wanted}, found {self.words[self.at:self.at + 5]}"
        self.at += 1
        return word

    def fresh(self, alternatives):
        name = f"#{len(self.alternatives)}"
        self.alternatives[name] = alternatives
        return ("rule", name)

    def choice(self):
        out = [self.sequence()]
        while self.words[self.at] == "|":
            self.take()
            out.append(self.sequence())
        return out

    def sequence(self):
        out = []
        while self.words[self.at] not in ("|", ";", ")", "]", "}"):
            out.append(self.symbol())
        return tuple(out)

    def symbol(self):
        word = self.take()
        if word[0] in "\"'":
            return ("text", word[1:-1])
        if word == "[":
            inside = self.choice()
            self.take("]")
            return self.fresh([()] + inside)
        if word == "{":
            inside = self.fresh(self.choice())
            self.take("}")
            many = self.fresh([()])
            self.alternatives[many[1]].append((many, inside))
            return many
        if word == "(":
            inside = self.choice()
            self.take(")")
            return self.fresh(inside)
        if word == "list":
            self.take("(")
            inside = self.fresh(self.choice())
            self.take(")")
            some = self.fresh([(inside,)])
            self.alternatives[some[1]].append((some, ("text", ","), inside))
            return self.fresh([(), (some,), (some, ("text", ","))])
        return ("token", word) if word in self.LEXICAL else ("rule", word)

    # Earley's algorithm. An item is (rule, alternative, dot, origin).
    def has(self, sentence, start="module"):
        """The index of the first token that no sentence has there, or None if the grammar has the whole text."""
        empty = self.nullable()
        columns = [self.closure({(start, i, 0, 0) for i in range(len(self.alternatives[start]))}, 0, [], empty)]
        for at, token in enumerate(sentence):
            following = set()
            for item in columns[at]:
                rule, alternative, dot, origin = item
                symbols = self.alternatives[rule][alternative]
                if dot < len(symbols) and symbols[dot][0] != "rule" and fits(symbols[dot], token):
                    following.add((rule, alternative, dot + 1, origin))
            if not following:
                return at
            columns.append(self.closure(following, at + 1, columns, empty))
        done = any(rule == start and origin == 0 and dot == len(self.alternatives[rule][alternative])
                   for rule, alternative, dot, origin in columns[-1])
        return None if done else len(sentence)

    def closure(self, items, here, columns, empty):
        todo, column = list(items), set(items)

        def add(item):
            if item not in column:
                column.add(item)
                todo.append(item)

        while todo:
            rule, alternative, dot, origin = todo.pop()
            symbols = self.alternatives[rule][alternative]
            if dot == len(symbols):
                waiting = column if origin == here else columns[origin]
                for other in list(waiting):
                    theirs = self.alternatives[other[0]][other[1]]
                    if other[2] < len(theirs) and theirs[other[2]] == ("rule", rule):
                        add((other[0], other[1], other[2] + 1, other[3]))
            elif symbols[dot][0] == "rule":
                name = symbols[dot][1]
                for i in range(len(self.alternatives[name])):
                    add((name, i, 0, here))
                if name in empty:
                    add((rule, alternative, dot + 1, origin))
        return column

    def nullable(self):
        out, before = set(), -1
        while before != len(out):
            before = len(out)
            for name, alternatives in self.alternatives.items():
                if any(all(s[0] == "rule" and s[1] in out for s in symbols) for symbols in alternatives):
                    out.add(name)
        return out


def fits(symbol, token):
    """Whether a terminal of the grammar takes the token."""
    (what, wanted), (kind, text) = symbol, token
    if what == "text":
        return text == wanted and kind in ("word", "mark", "string", "metadata")
    if wanted == "name":
        return kind == "word" and text not in KEYWORDS and text != "match?"
    if wanted == "type_name":
        return fits(("token", "name"), token) and text != "Tensor" and not DTYPE.fullmatch(text)
    if wanted == "digits":
        return kind == "number" and text.isdigit()
    if wanted == "dtype":
        return kind == "word" and DTYPE.fullmatch(text) is not None
    return kind == wanted
