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
    # JupyterLab gives `pre` the font of its page, and carets stand below what they mean in a fixed width alone.
    style = "text-align: left; white-space: pre; overflow-x: auto; font-family: var(--jp-code-font-family, monospace)"
    return f'<pre style="{style}">{_escaped(shown)}</pre>{rest}'


class _Code(str):
    """Text of the language, in a fixed width."""


class _Verdict(str):
    """A word that has a colour."""


def _cell(value: object, align: str) -> str:
    shown = _escaped(f"{value:.3g}" if isinstance(value, float) else value)
    if isinstance(value, _Code):
        shown = f'<code style="background: none">{shown}</code>'
    if isinstance(value, _Verdict):
        shown = f'<b style="color: {COLOURS[value]}">{shown}</b>'
    return f'<td style="text-align: {align}; vertical-align: top">{shown}</td>'


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _table(head: Sequence[str], rows: Iterable[Sequence[object]], colours: Sequence[str] = ()) -> str:
    rows = list(rows)
    aligns = ["right" if any(_is_number(row[i]) for row in rows) else "left" for i in range(len(head))]
    out = ['<table style="table-layout: auto"><thead><tr>']
    out += [f'<th style="text-align: {align}">{_escaped(h)}</th>' for h, align in zip(head, aligns)]
    out.append("</tr></thead><tbody>")
    for i, row in enumerate(rows[:MOST_ROWS]):
        style = f' style="color: {colours[i]}"' if colours else ""
        out += [f"<tr{style}>", *map(_cell, row, aligns), "</tr>"]
    out.append("</tbody></table>")
    if len(rows) > MOST_ROWS:
        out.append(f"<div><i>and {len(rows) - MOST_ROWS} more rows</i></div>")
    return "".join(out)


def _function_row(function: Any) -> tuple[str, str]:
    return _Code(f"@{function.name}"), _Code(function.type)


def _type_row(data: Any) -> tuple[str, str]:
    constructors = [f"{name}({', '.join(map(str, fields))})" if fields else name
                    for name, fields in data.constructors.items()]
    name = data.name + (f"[{', '.join(data.parameters)}]" if data.parameters else "")
    return _Code(name), _Code(" | ".join(constructors))


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
        compared: list[object] = [r.error, r.bound, r.needed] if r.verdict in ("agrees", "differs") else [""] * 3
        rows.append([r.engine, level, r.seconds * 1e3 or "", *compared, _Verdict(r.verdict), r.trouble])
    notes = "".join(f"<div>{_escaped(note)}</div>" for note in report.notes)
    return _table(head, rows) + notes


def _pass_report(report: Any) -> str:
    head = ["pass", "time (ms)", "expressions", "functions", "kernels", "rules"]
    rows = [[r.pass_name, r.seconds * 1e3, r.expressions, r.functions, r.kernels,
             ", ".join(f"{rule} x{times}" for rule, times in r.rules.items())] for r in report.rows]
    return _table(head, rows, ["inherit" if r.changed else COLOURS["skipped"] for r in report.rows])


def _session(session: Any) -> str:
    return _pre(session.where) + _table(["name", "value"], ((_Code(f"%{k}"), _short(v)) for k, v in session.locals.items()))


def _short(value: Any) -> str:
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
