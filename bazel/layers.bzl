"""The arrows of the design: which package may depend on which.

relay_library() turns this table into Bazel visibility, so an arrow that is not here does not build.
"""

# package -> the packages that it may depend on, besides what those depend on; and what it is for.
# docs/architecture.md shows this table (`./dev update`).
LAYERS = {
    "base": ([], "memory, names, source texts, diagnostics, files, work on several threads; names of a model as they stand in generated text"),
    "runtime": ([], "dtypes, tensors, values, the C ABI of artifacts"),
    "frontend/data": (["base", "runtime"], "tensors in files: npy, npz, safetensors, ONNX, parameters of graphs"),
    "target": (["base"], "what code is for: the type Target, its texts, the table of machines with a source for each number"),
    "toolchain": (["target"], "compilers, subprocesses, loaded libraries; what was compiled, kept on disk by its SHA-256 (of LLVM's library)"),
    "kernel": (["base", "runtime"], "scalar expressions, loop-level programs, their reference executor"),
    "kernel/schedule/primitives": (["kernel"], "changes to loops, each by itself, and traces of them"),
    "kernel/schedule": (["kernel/schedule/primitives", "target"], "what the rules share: stages, contractions, costs, a writer of loops"),
    "kernel/schedule/cpu": (["kernel/schedule"], "the rules for CPUs, one file each, and the schedule that asks them"),
    "kernel/schedule/gpu": (["kernel/schedule"], "the same for GPUs"),
    "kernel/codegen": (["kernel"], "what both code generators decide alike: expanded loops, vectors, shared subexpressions, formulas; each works on a copy of its kernel"),
    "kernel/print": (["kernel/codegen", "target"], "kernels as C++ or CUDA text, by a dialect table"),
    "kernel/native": (["kernel/print", "toolchain"], "kernels as text, compiled, and called on tensors; threads for them"),
    "kernel/llvm": (["kernel/native"], "the same kernels as LLVM instructions, compiled and linked in this process"),
    "ir": (["base", "runtime", "kernel"], "expressions, types, patterns, modules, traversal, rewriting, analyses"),
    "ir/text": (["ir"], "`.relay` texts: lexer, parser, printer; the standard library, which is such texts"),
    "op": (["ir", "ir/text", "kernel"], "everything about each operator (`ir/text` asks for the names of operators)"),
    "pattern": (["op", "ir/text"], "dataflow patterns: matching, rewriting, partitioning (it asks operators which of them commute)"),
    "typecheck": (["op"], "inference, relations, exhaustiveness"),
    "interp": (["op"], "the abstract machine that defines the semantics; sees neither the checker nor a pass, so a bug there cannot hide itself"),
    "analysis": (["typecheck", "kernel/schedule"], "questions that passes and engines ask of a module, each with one answer: effects, evaluation regions, what a call is, user kernels, recursion"),
    "passes": (["analysis", "interp", "pattern", "kernel/schedule/cpu", "kernel/schedule/gpu"], "transformations of modules (`interp` for folding and verification only)"),
    "frontend/graph": (["analysis", "frontend/data"], "graphs of the graph runtime as JSON and parameters, read and written"),
    "graph_runtime": (["passes", "kernel/llvm"], "runs a memory plan in this process"),
    "jit": (["passes", "kernel/llvm"], "the interpreter's machine, with operators and kernels compiled: the whole language"),
    "frontend/onnx": (["op", "frontend/data"], "ONNX models to modules"),
    "exporter/onnx": (["passes", "frontend/data"], "modules to ONNX models"),
    "exporter/dot": (["op"], "small functions to Graphviz text"),
    "vta/isa": (["base"], "the instructions of the accelerator VTA: parameters, table of fields, bits, text"),
    "vta/sim": (["vta/isa", "target"], "what a VTA computes and how long it takes: functional simulator, its oracle, cycle model"),
    "vta": (["runtime", "vta/sim"], "a VTA as its host sees it: the driver interface, the simulator behind it, the same as C functions"),
    "vta/compile": (["vta"], "layers to streams: packing, tiles, micro-ops, tokens, code with its origins"),
    "aot": (["passes", "kernel/print", "toolchain", "vta/compile"], "prints a memory plan, its kernels and the layers of a VTA, makes the `.so`"),
    "vta/program": (["vta/compile", "passes"], "programs to layers: which regions a VTA computes bit for bit, and how they run (`passes` for tests only)"),
    "driver": (["graph_runtime", "jit", "aot", "vta/program", "frontend/graph", "frontend/onnx"], "the C++ API: models are loaded, made ready on an engine, verified; the table of engines"),
}

# These may depend on everything.
TOP = {
    "tools": "the `relay` command: options and output",
    "tests": "",
    "bench": "",
    "examples": "",
    "python": "the Python package: a file of bindings for each C++ header",
}

def _below(package):
    """All packages that `package` may depend on."""
    seen = {}
    todo = list(LAYERS[package][0])
    for _ in range(1000):  # Starlark has no while
        if not todo:
            return seen
        p = todo.pop()
        if p not in seen:
            seen[p] = True
            todo.extend(LAYERS[p][0])
    fail("bazel/layers.bzl: the arrows below %s do not end" % package)

def users_of(package):
    """The visibility of `package`: every package that may depend on it."""
    if package not in LAYERS:
        fail("//%s is in no row of bazel/layers.bzl: add one" % package)
    users = ["//%s:__pkg__" % p for p in LAYERS if package in _below(p)]
    return users + ["//%s:__subpackages__" % p for p in TOP]
