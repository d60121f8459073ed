"""The part of LLVM that our programs use, as a shared library in the place of Debian's. Standard library only.

Debian's libLLVM has every target and needs libz3, libxml2, libedit and ICU: 230 MB. Linked from the archives of llvm-19-dev,
with what the programs do not reach left out, it has 46 MB. It has the names and the version of Debian's, so that programs which were linked
with that one run with this one.
"""

import subprocess
import sys
from pathlib import Path

CONFIG = "llvm-config-19"
COMPONENTS = ("orcjit", "passes", "x86", "aarch64")  # what kernel/llvm includes
RANDOM = Path(__file__).resolve().with_name("random.c")


def link(programs: list[Path], folder: Path) -> Path:
    """Writes the library into the folder, for these programs."""
    shared = (Path(answer("--libdir")) / "libLLVM-19.so").resolve()
    names = names_of_llvm(programs, shared)
    version = answer("--version").rsplit(".", 1)[0]
    script, roots = folder / "names.map", folder / "roots"
    script.write_text(f"LLVM_{version} {{ global:\n" + "".join(f"  {n};\n" for n in names) + "local: *; };\n")
    roots.write_text("".join(f"-Wl,-u,{n}\n" for n in names))
    library = folder / shared.name
    archives = answer("--link-static", "--libs", *COMPONENTS).split()
    command = ["g++", "-O2", "-fPIC", "-shared", "-o", library]
    command += ["-xc", RANDOM, "-xnone", f"-Wl,-soname,{shared.name}", f"-Wl,--version-script={script}", f"@{roots}"]
    command += ["-Wl,--gc-sections", "-Wl,-z,defs", "-Wl,-s", f"-L{answer('--libdir')}"]
    # llvm-19-dev brings libzstd itself, and not what the linker calls it by.
    command += ["-Wl,--start-group", *archives, "-Wl,--end-group", "-lz", "-l:libzstd.so.1", "-lrt", "-ldl", "-lm"]
    if subprocess.run(command).returncode:
        sys.exit("wheel: g++ cannot link the part of LLVM that is used, as above")
    if missing := sorted(set(names) - set(dynamic_names(library))):
        sys.exit(f"wheel: no component of {', '.join(COMPONENTS)} has {', '.join(missing)}: python/wheel/llvm.py lists them")
    return library


def names_of_llvm(programs: list[Path], shared: Path) -> list[str]:
    """The names that the programs and LLVM share. A program's own copy of an inline function counts: of a variable in one there
    must be one alone in the process."""
    known = {name for name in dynamic_names(shared) if "4llvm" in name or name.startswith("LLVM")}
    return sorted(known.intersection(name for program in programs for name in dynamic_names(program)))


def dynamic_names(file: Path) -> list[str]:
    """What the file gives to, or takes from, other files of a process."""
    listed = subprocess.run(["nm", "-D", str(file)], check=True, capture_output=True, text=True).stdout
    return [line.split()[-1].partition("@")[0] for line in listed.splitlines()]


def answer(*question: str) -> str:
    """What llvm-config says."""
    return subprocess.run([CONFIG, *question], check=True, capture_output=True, text=True).stdout.strip()
