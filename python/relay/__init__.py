"""Relay, a compiler of deep-learning models (docs/python.md).

    import relay
    model = relay.load("model.onnx")
    f = relay.compile(model, threads=2)
    y = f(x)
"""

from relay._relay import (
    Compiled,
    DataType,
    Diagnostic,
    DiagnosticError,
    DiagnosticWarning,
    Dim,
    Error,
    Executable,
    Expr,
    Function,
    LimitError,
    Module,
    Pass,
    Report,
    Row,
    Span,
    Tensor,
    TrapError,
    Type,
    compile,
    interpret,
    jit,
    load,
    open,
    parse,
    passes,
    verify,
)
from relay.data import Data

__all__ = [
    "Compiled",
    "Data",
    "DataType",
    "Diagnostic",
    "DiagnosticError",
    "DiagnosticWarning",
    "Dim",
    "Error",
    "Executable",
    "Expr",
    "Function",
    "LimitError",
    "Module",
    "Pass",
    "Report",
    "Row",
    "Span",
    "Tensor",
    "TrapError",
    "Type",
    "compile",
    "interpret",
    "jit",
    "load",
    "open",
    "parse",
    "passes",
    "verify",
]
