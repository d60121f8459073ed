"""The sources of the checkout, for tests that look at all of them."""

import os
import pathlib
import subprocess

# The runfiles hold a link to this very file: where it points is the checkout.
ROOT = pathlib.Path(os.path.realpath(__file__)).parents[2]

SKIPPED = ("bazel-", ".git", "__pycache__")


def files(*suffixes):
    """Paths relative to the checkout, sorted: what git knows, or everything if there is no git."""
    try:
        listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"], check=True,
                                capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        listed = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file()]
    return sorted(p for p in listed if p.endswith(suffixes) and not p.startswith(SKIPPED) and (ROOT / p).exists())


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")
