"""Runs `relay verify` on folders of models, and says of each how it went.

Each model's folder has `model.onnx`, `inputs/`, and `outputs/` with what the peer gave, if it gave something. One
process verifies all folders of a batch. If it dies, the batch is halved until the model to blame is alone.
"""

import json
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BUG = 6  # the exit code of a broken invariant
SECONDS = 120  # that a batch of small models may take, and as many more as it has models


@dataclass
class Verdict:
    """What Relay says to a model."""

    kind: str  # agrees, differs, engine differs, refuses, unsupported, limit, crashes
    message: str = ""
    node: str = ""  # the name of the node that is refused, if the message says one


@dataclass(frozen=True)
class Relay:
    """The binary, and the engines that models run on."""

    binary: Path
    root: Path  # of the checkout
    engines: str = "interp,jit"
    seconds: int = SECONDS

    def verify(self, folders: Sequence[Path]) -> dict[Path, Verdict]:
        """Verifies the models of these folders."""
        out: dict[Path, Verdict] = {}
        pending = [list(folders)] if folders else []
        while pending:
            batch = pending.pop()
            found, died = self._run(batch)
            if not died:
                out |= found
            elif len(batch) == 1:
                out[batch[0]] = Verdict("crashes", died)
            else:
                middle = len(batch) // 2
                pending += [batch[:middle], batch[middle:]]
        return out

    def _run(self, batch: Sequence[Path]) -> tuple[dict[Path, Verdict], str]:
        """The verdict on each model; or how the process died."""
        command = [str(self.binary), "verify", *map(str, batch), "--json", "--engines", self.engines, "--levels", "2"]
        environment = {**os.environ, "RELAY_ROOT": str(self.root), "RELAY_CACHE": "off"}
        limit = self.seconds + len(batch)
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, env=environment, timeout=limit, errors="replace"
            )
        except subprocess.TimeoutExpired:
            return {}, f"it did not end within {limit} s"
        if done.returncode < 0 or done.returncode == BUG:
            return {}, f"exit {done.returncode}: {last_line(done.stderr)}"
        refusals = read_refusals(done.stderr, [str(f) for f in batch])
        report = json.loads(done.stdout)["programs"] if done.stdout.strip() else []
        out = {Path(p["program"]): verdict_of(p, refusals.get(p["program"], "")) for p in report}
        for folder in batch:  # of a single model that cannot be read there is no report
            out.setdefault(folder, refusal(done.returncode, refusals.get(str(folder), done.stderr)))
        return out, ""


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it printed nothing"


def read_refusals(text: str, names: Sequence[str]) -> dict[str, str]:
    """What was said of each model that could not be verified: a line with its name stands behind it."""
    out, lines = {}, []
    for line in text.splitlines():
        end = re.fullmatch(r"relay: (.*): not verified, see above", line)
        if end and end[1] in names:
            out[end[1]] = "\n".join(lines)
            lines = []
        else:
            lines.append(line)
    return out


def first_error(text: str) -> str:
    """The first error with its first note, whether it is said for people or, with --json, as an object."""
    for line in text.splitlines():
        if not line.startswith('{"severity":"error"'):
            continue
        said = json.loads(line)
        slug = f" [{said['slug']}]" if "slug" in said else ""
        note = f" ({said['notes'][0]})" if said.get("notes") else ""
        return said["message"] + slug + note
    error = re.search(r"^(?:.*: )?error: (.*)$", text, re.MULTILINE)
    note = re.search(r"^note: (.*)$", text, re.MULTILINE)
    return (error[1] if error else last_line(text)) + (f" ({note[1]})" if note else "")


def refusal(code: int, text: str) -> Verdict:
    """The verdict on a model that Relay does not run. The first error counts; others may follow from it."""
    message = first_error(text)
    node = re.search(r"\(node `(n\d+)`\)", message)
    kinds = {4: "unsupported", 5: "limit", BUG: "crashes"}
    return Verdict(kinds.get(code, "refuses"), message, node[1] if node else "")


def verdict_of(program: dict, said: str) -> Verdict:
    """The verdict that an entry of the report amounts to: docs/verifying.md says what it holds."""
    if program["verdict"] == "not run":
        return refusal(program["exit_code"], said)
    wrong = [e for e in program["engines"] if e["verdict"] in ("differs", "failed")]
    wrong.sort(key=lambda e: e["engine"] == "expected")  # a difference between engines is graver
    if not wrong:
        skipped = [e for e in program["engines"] if e["verdict"] == "skipped"]
        if skipped:
            return Verdict("agrees", f"{skipped[0]['engine']} skips it: {skipped[0]['reason']}")
        return Verdict("agrees")
    first = wrong[0]
    if first["verdict"] == "failed":
        message = first["reason"]
    else:
        keys = ("output", "index", "got", "wanted", "bound")
        message = ", ".join(f"{k} {first[k]}" for k in keys)
    label = first["engine"] if first["level"] is None else f"{first['engine']} -O{first['level']}"
    return Verdict("differs" if first["engine"] == "expected" else "engine differs", f"{label}: {message}")
