"""The texts of a program: which there are, and the command that prints each."""

import re
from dataclasses import dataclass

from .programs import Model, Program

CPUS = ("sse2", "avx2", "avx512", "avx512-vnni", "avx512-bf16")
NEON = "aarch64"
GPUS = ("sm_75", "sm_90")


@dataclass(frozen=True)
class Text:
    """One file of the folder, and the arguments of `relay` that print it; the model comes behind the verb."""

    name: str
    verb: str
    arguments: tuple[str, ...]


def texts(program: Program, model: Model) -> list[Text]:
    """All texts of a program. Of a test's many functions there is less of each."""
    if program.kind == "quantised":
        return [layers("vta", "main"), layers("vta{batch=2}", "main")]
    if program.kind == "exec":
        out = [stage("kernel", "cpu:avx2", level) for level in (0, 1, 2)]
        out += [stage("llvm", "cpu:avx2", 2), stage("kernel", "cuda:sm_90", 2)]
        out += [stage(form, NEON, 2) for form in ("kernel", "llvm")]
        for function in model.functions:
            out += [source("avx512", 2, function), source("cuda:sm_90", 2, function)]
        if model.integers:
            out += [layers("vta", function) for function in model.functions]
        return out
    out = [stage("kernel", target, 2) for target in (*(f"cpu:{cpu}" for cpu in CPUS), NEON)]
    out += [stage(form, "cpu:avx2", level) for form in ("kernel", "llvm") for level in (0, 1)]
    out += [stage("llvm", target, 2) for target in ("cpu:sse2", "cpu:avx2", "cpu:avx512-bf16", NEON)]
    out += [stage("plan", "cpu:avx2", 2), stage("plan", "cuda:sm_90", 2)]
    out += [source(cpu, 2, "main") for cpu in (*CPUS, NEON)]
    out += [source("avx2", level, "main") for level in (0, 1)]
    out += [source("avx512", 2, "main", threads=2)]
    out += [source(f"cuda:{gpu}", 2, "main") for gpu in GPUS]
    return out


def stage(form: str, target: str, level: int) -> Text:
    """What the passes make of the whole module."""
    arguments = ("--emit", form, "--target", target, f"-O{level}")
    return Text(f"{file_name(target)}.O{level}.{form}", "opt", arguments)


def source(target: str, level: int, function: str, threads: int = 1) -> Text:
    """The generated source of one function."""
    form = "cuda" if target.startswith("cuda:") else "cpp"
    arguments = ("--emit", form, "--target", target, f"-O{level}", "--function", function)
    beside = "" if threads == 1 else f".{threads}-threads"
    several = () if threads == 1 else ("--threads", str(threads))
    return Text(f"{function}.{file_name(target)}.O{level}{beside}.{form}", "compile", arguments + several)


def layers(target: str, function: str) -> Text:
    """The instructions of one function's layers on a VTA, and why the rest stays on the processor."""
    arguments = ("--emit", "vta", "--target", target, "-O2", "--function", function)
    return Text(f"{function}.{file_name(target)}.O2.vta", "compile", arguments)


def file_name(target: str) -> str:
    """A target in the name of a file."""
    return re.sub(r"[:{},=]+", "-", target.removeprefix("cpu:")).rstrip("-")
