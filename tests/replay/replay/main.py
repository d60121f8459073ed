"""Prints texts, or compares folders of them."""

import sys

from . import comparing, printing, programs
from .options import Options


def run(options: Options) -> int:
    """Gives the exit code: 1 if texts differ or could not be printed, 2 for a mistake of the command line."""
    if options.before is not None:
        return compare(options)
    folder = options.folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        return refuse(f"{folder} is there already: name a new folder, or remove it")
    chosen = programs.chosen(options.programs)
    if not chosen:
        return refuse(f"no program is called like `{' '.join(options.programs)}`: try resnet, recursive/ or exec/lang")
    total = printing.print_all(options, chosen)
    print(f"{total.texts} texts of {len(chosen)} programs in {folder}; {total.refused} say why relay refuses them")
    if total.failed:
        print(f"replay: {total.failed} commands failed, above", file=sys.stderr)
    return 1 if total.failed else 0


def compare(options: Options) -> int:
    """The folder, with the one before."""
    before = options.before
    assert before is not None
    for folder in (before, options.folder):
        if not folder.is_dir():
            return refuse(f"there is no folder {folder}")
    found = comparing.compare(before, options.folder)
    print(comparing.report(found, before, options.folder))
    return 0 if found.is_same else 1


def refuse(why: str) -> int:
    """Says what is wrong with the command line."""
    print(f"replay: {why}", file=sys.stderr)
    return 2
