"""The arrows of the design: which package may depend on which.

relay_library() turns this table into Bazel visibility, so an arrow that is not here does not build.
"""

# package -> the packages that it may depend on, directly; what those depend on follows.
_ARROWS = {
    "base": [],
    "runtime": [],
    "target": ["base"],
    "kernel": ["base", "runtime"],
    "kernel/schedule": ["kernel", "target"],
    "kernel/codegen": ["kernel"],
    "kernel/print": ["kernel/codegen"],
    "kernel/native": ["kernel/print", "target"],
    "kernel/llvm": ["kernel/native"],
    "ir": ["base", "runtime", "kernel"],
    "ir/text": ["ir"],
    "op": ["ir", "ir/text", "kernel"],
    "pattern": ["op", "ir/text"],
    "typecheck": ["op"],
    "interp": ["op"],
    "analysis": ["typecheck", "kernel/schedule"],
    "passes": ["analysis", "interp", "pattern"],
    "graph_runtime": ["passes", "kernel/llvm", "frontend/data"],
    "jit": ["passes", "kernel/llvm"],
    "aot": ["passes", "kernel/print", "kernel/native"],
    "frontend/data": ["base", "runtime"],
    "frontend/onnx": ["op", "frontend/data"],
    "driver": ["graph_runtime", "jit", "aot", "frontend/onnx"],
}

# These may depend on everything.
_TOP = ["tools", "tests", "bench", "examples", "python"]

def _below(package):
    """All packages that `package` may depend on."""
    seen = {}
    todo = list(_ARROWS[package])
    for _ in range(1000):  # Starlark has no while
        if not todo:
            return seen
        p = todo.pop()
        if p not in seen:
            seen[p] = True
            todo.extend(_ARROWS[p])
    fail("bazel/layers.bzl: the arrows below %s do not end" % package)

def users_of(package):
    """The visibility of `package`: every package that may depend on it."""
    if package not in _ARROWS:
        fail("//%s is in no row of bazel/layers.bzl: add one, and its arrow to docs/architecture.md" % package)
    users = ["//%s:__pkg__" % p for p in _ARROWS if package in _below(p)]
    return users + ["//%s:__subpackages__" % p for p in _TOP]
