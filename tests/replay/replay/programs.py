"""What is printed: networks of bench/, models of examples/, and the programs that the engines are tested with."""

import re
from dataclasses import dataclass
from pathlib import Path

from .options import ROOT

FROM_BENCH = ("network", "quantised", "recursive")  # kinds that the packages of bench/ are needed for
# Networks whose layers a VTA computes, and the scale that holds their activations.
QUANTISED = {"resnet18": 16, "mobilenet_v1": 16, "dcgan": 8}
DEFINITION = re.compile(r"^def @([\w.]+)", re.MULTILINE)
INPUT = re.compile(r"^---- input\n(.*?)^---- ", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Program:
    """A model of one kind, by a name that is unique among all."""

    kind: str  # network, quantised, recursive, model, exec
    name: str

    @property
    def path(self) -> str:
        """Of its folder among the printed texts."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True)
class Model:
    """A program as a file."""

    path: Path
    shapes: tuple[str, ...] = ()  # of inputs with dynamic axes, as they are measured
    functions: tuple[str, ...] = ("main",)
    integers: bool = False  # a test with tensors of int8, as layers of a VTA have them
    passes: str = ""  # that `relay opt` runs first


def all_programs() -> list[Program]:
    """Every program, in the order in which they are printed."""
    out = [Program("model", path.parent.name) for path in (ROOT / "examples" / "models").glob("*/model.onnx")]
    tests = ROOT / "tests" / "exec"
    out += [Program("exec", str(p.relative_to(tests).with_suffix(""))) for p in tests.rglob("*.relay")]
    out += [Program("recursive", path.stem) for path in (ROOT / "bench" / "programs").glob("*.relay")]
    out += [Program("network", name) for name in networks()]
    out += [Program("quantised", name) for name in networks() if name in QUANTISED]
    return sorted(out, key=lambda program: program.path)


def networks() -> list[str]:
    """The names of the networks of bench/, read without the packages that make them."""
    catalogue = (ROOT / "bench" / "zoo" / "catalogue.py").read_text(encoding="utf-8")
    return re.findall(r'^ +Network\("(\w+)"', catalogue, re.MULTILINE)


def chosen(parts: tuple[str, ...]) -> list[Program]:
    """Those whose path contains one of the parts; all if there are no parts."""
    return [p for p in all_programs() if not parts or any(part in p.path for part in parts)]


def write(program: Program, folder: Path) -> Model:
    """The program as a file: its own if it has one, or one that is made in the folder."""
    if program.kind == "model":
        return Model(ROOT / "examples" / "models" / program.name / "model.onnx")
    if program.kind == "exec":
        return from_test(ROOT / "tests" / "exec" / f"{program.name}.relay", folder / "program.relay")
    if program.kind == "recursive":
        from programs import catalogue, files  # of bench/

        found = catalogue.PROGRAMS[program.name]
        return Model(files.write(found, found.weights(found.random()), folder))
    from harness import models  # of bench/

    file, shapes = models.onnx_file(program.name), tuple(models.fixed_shapes(program.name))
    return Model(file, shapes, passes=quantising(program.name) if program.kind == "quantised" else "")


def quantising(name: str) -> str:
    """The passes that make a network's products ones of small integers."""
    return f"simplify-inference,inline-lets,fold-constants,quantise-global{{scale={QUANTISED[name]}}}"


def from_test(path: Path, written: Path) -> Model:
    """The program of a test, without what the test expects of it."""
    found = INPUT.search(path.read_text(encoding="utf-8"))
    assert found, f"{path} has no input"
    written.write_text(found[1], encoding="utf-8")
    return Model(written, (), tuple(dict.fromkeys(DEFINITION.findall(found[1]))), "int8" in found[1])
