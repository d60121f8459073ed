"""How modules, types and reports show themselves in a notebook: `_repr_html_` of their classes.

Every text goes through `_escaped`: names and messages come from models, which may be anybody's.
"""

import html
from collections.abc import Iterable, Sequence
from typing import Any

from relay import _relay

# A notebook is no place for more: `print(module)` shows all of it.
MOST_LINES = 400
MOST_ROWS = 100

COLOURS = {"agrees": "#1a7f37", "differs": "#cf222e", "failed": "#cf222e", "skipped": "#6e7781"}


def _escaped(value: object) -> str:
    return html.escape(str(value))


def _pre(text: str) -> str:
    lines = text.rstrip("\n").split("\n")
    more = len(lines) - MOST_LINES
    shown = "\n".join(lines[:MOST_LINES])
    rest = f"<div><i>and {more} more lines: print it</i></div>" if more > 0 else ""
    return f'<pre style="text-align: left">{_escaped(shown)}</pre>{rest}'


def _cell(value: object) -> str:
    align = "right" if isinstance(value, int | float) and not isinstance(value, bool) else "left"
    shown = f"{value:.4g}" if isinstance(value, float) else value
    return f'<td style="text-align: {align}">{_escaped(shown)}</td>'


def _table(head: Sequence[str], rows: Iterable[Sequence[object]], colours: Sequence[str] = ()) -> str:
    rows = list(rows)
    out = ["<table><thead><tr>", *(f'<th style="text-align: left">{_escaped(h)}</th>' for h in head)]
    out.append("</tr></thead><tbody>")
    for i, row in enumerate(rows[:MOST_ROWS]):
        style = f' style="color: {colours[i]}"' if colours else ""
        out += [f"<tr{style}>", *map(_cell, row), "</tr>"]
    out.append("</tbody></table>")
    if len(rows) > MOST_ROWS:
        out.append(f"<div><i>and {len(rows) - MOST_ROWS} more rows</i></div>")
    return "".join(out)


def _function_row(function: Any) -> tuple[str, str]:
    return f"@{function.name}", str(function.type)


def _type_row(data: Any) -> tuple[str, str]:
    constructors = [f"{name}({', '.join(map(str, fields))})" if fields else name
                    for name, fields in data.constructors.items()]
    return data.name + (f"[{', '.join(data.parameters)}]" if data.parameters else ""), " | ".join(constructors)


def _module(module: Any) -> str:
    out = [_table(["function", "type"], map(_function_row, module.functions.values()))]
    if module.types:
        out.append(_table(["data type", "constructors"], map(_type_row, module.types.values())))
    out.append(f"<details><summary>text</summary>{_pre(module.text(elide=True))}</details>")
    return "".join(out)


def _function(function: Any) -> str:
    return _table(["function", "type"], [_function_row(function)]) + _pre(str(function))


def _data_type(data: Any) -> str:
    return _table(["data type", "constructors"], [_type_row(data)])


def _text(value: Any) -> str:
    return f"<code>{_escaped(value)}</code>"


def _report(report: Any) -> str:
    head = ["engine", "level", "time (ms)", "error", "bound", "needed", "verdict", ""]
    rows = []
    for r in report.rows:
        level = "" if r.level is None else f"-O{r.level}"
        ran = r.verdict != "skipped"
        numbers: list[object] = [r.seconds * 1e3, r.error, r.bound, r.needed] if ran else [""] * 4
        rows.append([r.engine, level, *numbers, r.verdict, r.trouble])
    notes = "".join(f"<div>{_escaped(note)}</div>" for note in report.notes)
    return _table(head, rows, [COLOURS[r.verdict] for r in report.rows]) + notes


def _pass_report(report: Any) -> str:
    head = ["pass", "time (ms)", "expressions", "functions", "kernels", "rules"]
    rows = [[r.pass_name, r.seconds * 1e3, r.expressions, r.functions, r.kernels,
             ", ".join(f"{rule} x{times}" for rule, times in r.rules.items())] for r in report.rows]
    return _table(head, rows, ["inherit" if r.changed else COLOURS["skipped"] for r in report.rows])


def _session(session: Any) -> str:
    return _pre(session.where) + _table(["name", "value"], ((k, _short(v)) for k, v in session.locals.items()))


def _short(value: object) -> str:
    text = f"{value.dtype}{list(value.shape)}" if hasattr(value, "dtype") and hasattr(value, "shape") else repr(value)
    return text if len(text) <= 200 else text[:200] + " ..."


SHOWN = {
    "Module": _module,
    "Function": _function,
    "DataType": _data_type,
    "Type": _text,
    "Dim": _text,
    "Expr": lambda e: _pre(str(e)),
    "Report": _report,
    "PassReport": _pass_report,
    "DebugSession": _session,
}


def install() -> None:
    """Gives the classes their `_repr_html_`."""
    for name, show in SHOWN.items():
        setattr(getattr(_relay, name), "_repr_html_", show)
