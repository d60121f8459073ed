"""The change that is being worked on: the working tree, compared with the merge base of HEAD and main."""

import subprocess


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True, errors="replace").stdout


def base_of_change():
    for main in ("main", "origin/main"):
        found = subprocess.run(["git", "merge-base", "HEAD", main], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.strip()
    return "HEAD"


def new_files():
    """What git does not know yet and does not ignore."""
    return [path for path in git("ls-files", "-o", "--exclude-standard", "-z").split("\0") if path]
