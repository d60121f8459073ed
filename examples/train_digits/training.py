"""What a training loop needs around a compiled step: the compiler, the step's buffers, and checkpoints.

A step is a function (parameters..., state..., batch...) -> (parameters..., state..., loss). What it gives but for the loss is
what the next step takes: its `carried` tensors, the first inputs.
"""

import json
import os
import subprocess
import sys
from ctypes import POINTER, c_int64, cast, pointer

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "deploy"))
import deploy  # noqa: E402  the C interface of artifacts, by ctypes

CODES = {"i": 0, "u": 1, "f": 2, "b": 6}  # DLDataTypeCode of NumPy's kinds


class Failed(Exception):
    """What the user is told."""


class Compiler:
    """Runs the `relay` command on texts of one folder. What it writes goes into another."""

    def __init__(self, command, sources, folder):
        self.command, self.sources, self.folder = command, sources, folder

    def _relay(self, *words):
        try:
            done = subprocess.run([self.command, *words], capture_output=True, text=True)
        except OSError as error:
            raise Failed(f"{self.command}: {error.strerror}; --relay names the command") from error
        if done.returncode != 0:
            raise Failed(f"relay {words[0]}: {done.stderr}")

    def function(self, network, function):
        """An artifact of a function of NETWORK.relay, as a path."""
        library = os.path.join(self.folder, f"{network}_{function}.so")
        self._relay("compile", os.path.join(self.sources, network + ".relay"), "--function", function, "-o", library)
        return library

    def step(self, network):
        """An artifact of @step, which asks for the value and the gradients of @loss by `grad`."""
        return self.function(network, "step")


class Function(deploy.Model):
    """A compiled function on NumPy arrays, whose outputs are written where the caller wants them."""

    def run(self, inputs, outputs):
        self.run_views(self.views("inputs", inputs), self.views("outputs", outputs))

    def run_views(self, inputs, outputs):
        pointers = [(POINTER(deploy.Tensor) * len(views))(*map(pointer, views)) for views in (inputs, outputs)]
        if self.api.run(self.context, pointers[0], len(inputs), pointers[1], len(outputs)) != 0:
            raise Failed(self.api.error(self.context).decode())

    def views(self, side, arrays, first=0):
        """What the C interface takes for these arrays, which must outlive it: "inputs" or "outputs" from number `first` on."""
        ports = self.description[side][first:]
        if len(ports) != len(arrays):
            raise Failed(f"there are {len(ports)} {side}, and {len(arrays)} arrays were given")
        return [self._view(port, array) for port, array in zip(ports, arrays)]

    @staticmethod
    def _view(port, array):
        if array.dtype.name != port["dtype"] or not array.flags.c_contiguous:
            raise Failed(f"`{port['name']}` is {port['dtype']} without gaps, and {array.dtype.name} was given")
        shape = (c_int64 * array.ndim)(*array.shape)
        return deploy.Tensor(array.ctypes.data, deploy.CPU, 0, array.ndim, CODES[array.dtype.kind],
                             8 * array.dtype.itemsize, 1, cast(shape, POINTER(c_int64)))


class Step:
    """A compiled step and its carried tensors, by name.

    A tensor that the step may update in place has one buffer, which it reads and writes. Others have two: a run reads one and
    writes the other, and then they change places. So nothing is copied.
    """

    def __init__(self, library, threads):
        self.function = Function(library, threads)
        inputs, outputs = (self.function.description[key] for key in ("inputs", "outputs"))
        self.ports = inputs[:len(outputs) - 1]
        for taken, given in zip(self.ports, outputs):
            if (taken["dtype"], taken["dims"]) != (given["dtype"], given["dims"]):
                raise Failed(f"the step takes another type as `{taken['name']}` than it gives")
        pairs = {(p["output"], p["input"]) for p in self.function.description.get("aliased", [])}
        self.now = [np.zeros(p["dims"], p["dtype"]) for p in self.ports]
        self.next = [now if (i, i) in pairs else np.zeros_like(now) for i, now in enumerate(self.now)]
        self.loss = np.zeros(outputs[-1]["dims"], outputs[-1]["dtype"])
        self.views_now, self.views_next = (self.function.views("outputs", [*arrays, self.loss]) for arrays in (self.now, self.next))

    def run(self, *batch):
        """The loss before the step."""
        carried = len(self.ports)
        self.function.run_views(self.views_now[:carried] + self.function.views("inputs", batch, carried), self.views_next)
        self.now, self.next = self.next, self.now
        self.views_now, self.views_next = self.views_next, self.views_now
        return self.loss[()]

    def tensors(self):
        return {port["name"]: array for port, array in zip(self.ports, self.now)}


def save(path, tensors, metadata):
    """A safetensors file, there whole or not at all: a kill leaves the file before it."""
    header, at = {"__metadata__": metadata}, 0
    for name, array in tensors.items():
        dtype = {"f": "F", "i": "I"}[array.dtype.kind] + str(8 * array.dtype.itemsize)
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".part", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)


def load(path):
    """The tensors and the metadata of a safetensors file that `save` wrote."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        size = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:size])
        metadata, tensors = header.pop("__metadata__"), {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            dtype = np.dtype(entry["dtype"].lower().replace("f", "float").replace("i", "int"))
            tensors[name] = np.frombuffer(data[size + begin:size + end], dtype).reshape(entry["shape"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failed(f"{path} is no whole checkpoint: {error}") from error
    return tensors, metadata


def earlier(path, about):
    """The tensors of a checkpoint; None if there is none."""
    if not os.path.exists(path):
        return None
    tensors, metadata = load(path)
    if metadata != about:
        raise Failed(f"{path} is of {metadata}, not of {about}; give another --folder")
    return tensors


def restore(step, tensors, path):
    for port, array in zip(step.ports, step.now):
        given = tensors.get(port["name"])
        if given is None or given.shape != array.shape or given.dtype != array.dtype:
            raise Failed(f"{path} is a checkpoint of another network: `{port['name']}` is not in it, or of another type")
        array[...] = given


def initialise(step, parameters, seed):
    """Weights that keep the size of what runs through them (He); biases and the state are zeros already."""
    random = np.random.default_rng(seed)
    for array in step.now[:parameters]:
        if array.ndim > 1:
            array[...] = random.normal(0, np.sqrt(2 / np.prod(array.shape[1:])), array.shape)


def progress(numbers):
    try:
        from tqdm import tqdm
    except ImportError:
        return numbers
    return tqdm(numbers, unit="step", disable=None)  # no bar where nobody watches


class Run:
    """Steps of one network up to number --steps: from the checkpoint if there is one, which is read before anything else."""

    def __init__(self, options):
        os.makedirs(options.folder, exist_ok=True)
        self.options, self.path = options, os.path.join(options.folder, options.network + ".safetensors")
        self.about = {"network": options.network, "seed": str(options.seed)}
        self.found = earlier(self.path, self.about)

    def go(self, step, parameters, batches):
        """All losses, those of the checkpoint too.

        `parameters` says how many of the step's carried tensors are no state, `batches(first)` gives the batch of each step.
        """
        losses = []
        if self.found:
            restore(step, self.found, self.path)
            losses = list(self.found["losses"])
            print(f"goes on after step {len(losses)} of {self.path}")
        else:
            initialise(step, parameters, self.options.seed)
        numbers = progress(range(len(losses), self.options.steps))
        for number, batch in zip(numbers, batches(len(losses))):
            losses.append(step.run(*batch))
            if (number + 1) % self.options.save_every == 0:
                self._save(step, losses)
            if hasattr(numbers, "set_postfix_str"):
                numbers.set_postfix_str(f"loss {losses[-1]:.4f}", refresh=False)
        self._save(step, losses)
        print(f"wrote {self.path}")
        return losses

    def _save(self, step, losses):
        save(self.path, {**step.tensors(), "losses": np.array(losses, "float32")}, self.about)


def plot(losses, path):
    try:
        import matplotlib
    except ImportError:
        print("no loss curve: matplotlib is missing", file=sys.stderr)
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot
    pyplot.figure(figsize=(7, 4))
    pyplot.semilogy(losses, linewidth=0.6, label="one batch")
    window = min(22, len(losses))
    mean = np.convolve(losses, np.ones(window) / window, "valid")
    pyplot.semilogy(np.arange(len(mean)) + window - 1, mean, label=f"mean of {window}")
    pyplot.xlabel("step")
    pyplot.ylabel("loss")
    pyplot.legend()
    pyplot.tight_layout()
    pyplot.savefig(path, dpi=150)
    print(f"wrote {path}")


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def add_options(parser, steps, folder, save_every):
    parser.add_argument("--steps", type=positive, default=steps, help=f"so many in all; {steps} unless said otherwise")
    parser.add_argument("--seed", type=positive, default=1, help="of the first weights and of the order of the data")
    parser.add_argument("--folder", default=folder, help="where everything is written; it goes on with a checkpoint there")
    parser.add_argument("--save-every", type=positive, default=save_every, help="steps from one checkpoint to the next")
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--relay", default=os.path.join(HERE, "..", "..", "relay"), help="the command")


def run_main(parser, train):
    """Runs train(options); what can go wrong for a user is a line on standard error."""
    try:
        train(parser.parse_args())
    except (Failed, MemoryError, OSError, RuntimeError, UnicodeDecodeError) as error:
        sys.exit(f"{sys.argv[0]}: {error}")
