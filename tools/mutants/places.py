"""Places: where a source file could be wrong, and how. Found in clang's syntax tree, so that what is written instead compiles.

A place has two texts: what stands there, and what stands in the instrumented copy of the file, which does either, as
`relay_mutant(NUMBER)` says.
"""
import bisect
import dataclasses
import hashlib
import re

from clang import cindex

from equivalent import key_of

HOOK = 'extern "C" bool relay_mutant(int number);  // is this the mutant of this run?\n'
OPPOSITE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
SWAPPED = ("-", "/", "%")
# What these are given is text for people, and what is below them does not return.
TEXTS, ENDS = {"cat", "join"}, {"fail", "abort", "exit"}
# What prints a barrier into a kernel: the dialect's, or CUDA's own.
BARRIER = re.compile(r"\.barrier$|__sync(threads|warp)")

Kind = cindex.CursorKind
CONDITIONAL = {Kind.IF_STMT, Kind.CONDITIONAL_OPERATOR}
WRAPPERS = {Kind.UNEXPOSED_EXPR}


@dataclasses.dataclass(frozen=True)
class Place:
    path: str
    line: int
    start: int  # bytes of the file
    end: int
    kind: str  # what is wrong: KINDS
    text: str
    wrong: str  # what the mutant does instead
    both: str  # with NUMBER for the mutant's number
    of_line: str  # the text of the line where it begins
    nth: int = 0  # of the places that are equal in all of that but `line`

    @property
    def key(self):
        """What stays the same while other lines of the file change."""
        return key_of(self.path, self.kind, self.text, self.wrong, self.of_line, self.nth)

    def order(self):
        """A number that looks random: places are taken in this order."""
        return hashlib.sha256(self.key.encode()).hexdigest()


KINDS = {
    "flip": "a condition is negated",
    "bound": "a comparison is off by one, or negated",
    "swap": "two operands change places",
    "axis": "a whole number is another one",
    "part": "one side of a condition is left out",
    "drop": "a statement is left out",
    "answer": "true is false, false is true",
    "barrier": "the threads of a block do not wait for each other",
}


class Finder:
    """The places of one file."""

    def __init__(self, path, source, unit):
        self.path, self.source = path, source
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        # What a macro expands to is not where it is written.
        self.macros = []
        self.places = []
        for cursor in unit.cursor.get_children():
            if not cursor.location.file or cursor.location.file.name != path:
                continue
            if cursor.kind == Kind.MACRO_INSTANTIATION:
                self.macros.append((cursor.extent.start.offset, cursor.extent.end.offset))
        for cursor in unit.cursor.get_children():
            if cursor.location.file and cursor.location.file.name == path:
                self.walk(cursor)
        self.places = numbered(self.places)

    def walk(self, root):
        pending = [root]
        while pending:
            cursor = pending.pop()
            if cursor.kind == Kind.STATIC_ASSERT or cursor.kind == Kind.LAMBDA_EXPR and self.is_constant(cursor):
                continue
            children = list(cursor.get_children())
            self.look_at(cursor, children)
            pending.extend(children)

    def is_constant(self, cursor):
        return "constexpr" in self.text(cursor).split("{")[0]

    def text(self, cursor):
        return self.source[cursor.extent.start.offset : cursor.extent.end.offset].decode()

    def add(self, cursor, kind, wrong, both, end=None):
        start, end = cursor.extent.start.offset, end or cursor.extent.end.offset
        if start >= end or any(a < end and start < b for a, b in self.macros):
            return
        text = self.source[start:end].decode()
        line = bisect.bisect_right(self.lines, start)
        of_line = self.source[self.lines[line - 1] : self.lines[line]].decode().strip()
        self.places.append(Place(self.path, line, start, end, kind, text, wrong, both, of_line))

    def choice(self, cursor, kind, wrong):
        self.add(cursor, kind, wrong, f"(relay_mutant(NUMBER) ? ({wrong}) : ({self.text(cursor)}))")

    def look_at(self, cursor, children):
        if cursor.kind in CONDITIONAL and children and children[0].kind.is_expression():
            text = self.text(cursor)
            if not re.match(r"if\s+constexpr", text) and not text.startswith("if (const auto"):
                condition = self.text(children[0])
                self.add(children[0], "flip", f"not ({condition})",
                         f"(relay_mutant(NUMBER) != static_cast<bool>({condition}))")
        elif cursor.kind == Kind.BINARY_OPERATOR and len(children) == 2:
            self.binary(cursor, *children)
        elif cursor.kind == Kind.INTEGER_LITERAL and self.text(cursor).isdigit():
            number = int(self.text(cursor))
            self.choice(cursor, "axis", str(0 if number == 1 else number + 1))
        elif cursor.kind == Kind.CXX_BOOL_LITERAL_EXPR:
            self.choice(cursor, "answer", "false" if self.text(cursor) == "true" else "true")
        elif cursor.kind == Kind.CALL_EXPR:
            self.call(cursor)
        elif cursor.kind == Kind.COMPOUND_STMT:
            for child in children:
                self.statement(child)

    def between(self, left, right):
        return self.source[left.extent.end.offset : right.extent.start.offset].decode().strip()

    def binary(self, cursor, left, right):
        operator = self.between(left, right)
        a, b = self.text(left), self.text(right)
        if operator in OPPOSITE:
            self.choice(cursor, "bound", f"{a} {OPPOSITE[operator]} {b}")
        elif operator in SWAPPED:
            self.choice(cursor, "swap", f"{b} {operator} ({a})")
        elif operator == "&&":
            self.add(right, "part", "true", f"(relay_mutant(NUMBER) || ({b}))")
        elif operator == "||":
            self.add(right, "part", "false", f"(!relay_mutant(NUMBER) && ({b}))")

    def call(self, cursor):
        arguments = list(cursor.get_arguments())
        if self.prints_barrier(cursor):
            left_out = f"(relay_mutant(NUMBER) ? static_cast<void>(0) : static_cast<void>({self.text(cursor)}))"
            self.add(cursor, "barrier", "", left_out)
            return
        if cursor.spelling in TEXTS:
            return
        name = re.match(r"operator([-/%<])$", cursor.spelling)
        if name and len(arguments) == 2 and self.between(*arguments) == name[1]:
            if same_type(*arguments):
                a, b = (self.text(argument) for argument in arguments)
                self.choice(cursor, "swap", f"({b}) {name[1]} ({a})")
            return
        if cursor.spelling.startswith("operator"):
            return
        text, start = self.source, cursor.extent.start.offset
        for a, b in zip(arguments, arguments[1:]):
            if self.text(b).endswith(".end()") or not same_type(a, b) or self.text(a) == self.text(b):
                continue  # the ends of a range, swapped, are no mistake that anybody makes
            if self.between(a, b) == ",":
                wrong = (text[start : a.extent.start.offset].decode() + self.text(b) + ", " + self.text(a)
                         + text[b.extent.end.offset : cursor.extent.end.offset].decode())
                self.choice(cursor, "swap", wrong)
                return

    def prints_barrier(self, cursor):
        return cursor.kind == Kind.CALL_EXPR and any(BARRIER.search(self.text(a)) for a in cursor.get_arguments())

    def statement(self, cursor):
        while cursor.kind in WRAPPERS:
            children = list(cursor.get_children())
            if len(children) != 1:
                break
            cursor = children[0]
        assigns = cursor.kind in (Kind.BINARY_OPERATOR, Kind.COMPOUND_ASSIGNMENT_OPERATOR)
        if cursor.kind != Kind.CALL_EXPR and not assigns or cursor.spelling in ENDS or self.prints_barrier(cursor):
            return
        after = self.source[cursor.extent.end.offset :]
        if not after.lstrip().startswith(b";"):
            return
        end = cursor.extent.end.offset + after.index(b";") + 1
        text = self.source[cursor.extent.start.offset : end].decode()
        self.add(cursor, "drop", "", f"if (!relay_mutant(NUMBER)) {text}", end)


def numbered(places):
    """The same places, in the order of the file; those that are equal but for where they stand have numbers."""
    seen, out = {}, []
    for place in sorted(dict.fromkeys(places), key=lambda p: (p.start, p.end)):
        nth = seen[place.key] = seen.get(place.key, -1) + 1
        out.append(dataclasses.replace(place, nth=nth))
    return out


def same_type(a, b):
    names = [re.sub(r"\bconst\b|&", "", c.type.get_canonical().spelling).strip() for c in (a, b)]
    return names[0] == names[1] and names[0] != ""


class Reader:
    """Parses files as the compiler does; the folder holds them and what is generated from them."""

    def __init__(self, arguments):
        self.index = cindex.Index.create()
        self.arguments = ["-std=c++20", "-w", *arguments]

    def parse(self, path, source, detailed):
        options = cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD if detailed else 0
        return self.index.parse(path, self.arguments, [(path, source.decode())], options)

    def places(self, path):
        with open(path, "rb") as file:
            source = file.read()
        unit = self.parse(path, source, True)
        errors = [d for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
        if errors:
            raise SystemExit(f"mutants: clang does not read {path}: {errors[0]}")
        return source, Finder(path, source, unit).places

    def wrong_lines(self, path, source):
        """The lines with errors of a file as it would be."""
        unit = self.parse(path, source, False)
        return {d.location.line for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error}


def instrumented(source, places):
    """The file with the hook at each place, and the line of each place in it. Places do not overlap."""
    out, at, lines = [HOOK.encode()], 0, {}
    line = 2
    for place in sorted(places, key=lambda p: p.start):
        before = source[at : place.start]
        both = place.both.replace("NUMBER", str(places[place])).encode()
        line += before.count(b"\n")
        lines[place] = range(line, line + both.count(b"\n") + 1)
        line += both.count(b"\n")
        out += [before, both]
        at = place.end
    return b"".join(out + [source[at:]]), lines
