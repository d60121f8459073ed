"""Trains a network on handwritten digits by a step that `relay` compiled. README.md says how."""

import argparse
import os
import sys

import numpy as np

import training

BATCH = 64
ROOT = os.path.join(training.HERE, "..", "..")


def digits():
    """1797 images of scikit-learn's package, 8 x 8 pixels from 0 to 16."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise training.Failed("scikit-learn is missing: `pip install scikit-learn`, or --data names a file") from error
    found = load_digits()
    return found.data / 16, found.target


def read(path):
    try:
        with np.load(path) as file:
            return file["images"], file["labels"]
    except (OSError, KeyError, ValueError) as error:
        raise training.Failed(f"{path} is no .npz file of `images` and `labels`: {error}") from error


def split(images, labels):
    """Every fifth image is kept for the test. Gives (images, labels) to train with, and those of the test."""
    images, labels = np.ascontiguousarray(images, "float32"), np.ascontiguousarray(labels, "int32")
    if images.ndim != 2 or images.shape[1] != 64 or labels.shape != images.shape[:1]:
        raise training.Failed("the data are no images of 64 numbers with a label each")
    test = np.arange(len(images)) % 5 == 4
    if np.count_nonzero(~test) < BATCH:
        raise training.Failed(f"a batch has {BATCH} images, and there are {np.count_nonzero(~test)} to train with")
    return (images[~test], labels[~test]), (images[test], labels[test])


def batches(images, labels, seed, first):
    """Batch number `first` and all that follow, with some noise on the images. They depend on the seed and the number alone."""
    each = len(images) // BATCH
    for number in range(first, sys.maxsize):
        epoch, place = divmod(number, each)
        if place == 0 or number == first:
            order = np.random.default_rng([seed, 0, epoch]).permutation(len(images))
        chosen = order[place * BATCH:(place + 1) * BATCH]
        noise = np.random.default_rng([seed, 1, number]).normal(0, 0.15, (BATCH, images.shape[1]))
        yield images[chosen] + noise.astype("float32"), labels[chosen]


def initialise(step, parameters, seed):
    """Weights that keep the size of what runs through rectifiers (He); biases and the state are zeros already."""
    random = np.random.default_rng(seed)
    for array in step.now[:parameters]:
        if array.ndim > 1:
            array[...] = random.normal(0, np.sqrt(2 / np.prod(array.shape[1:])), array.shape)


def progress(numbers):
    try:
        from tqdm import tqdm
    except ImportError:
        return numbers  # main() prints the loss at the end in any case
    return tqdm(numbers, unit="step", disable=None)  # no bar where nobody watches


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


def earlier(path, about):
    """The tensors of the checkpoint; None if there is none."""
    if not os.path.exists(path):
        return None
    tensors, metadata = training.load(path)
    if metadata != about:
        raise training.Failed(f"{path} is of {metadata}, not of {about}; give another --folder")
    return tensors


def train(options):
    os.makedirs(options.folder, exist_ok=True)
    compiler = training.Compiler(options.relay, options.folder)
    path = os.path.join(options.folder, options.network + ".safetensors")
    about = {"network": options.network, "seed": str(options.seed)}
    found = earlier(path, about)
    given, test = split(*(read(options.data) if options.data else digits()))
    predict = training.Function(compiler.compile(os.path.join(training.HERE, options.network + ".relay"), "predict",
                                                 options.network + "_predict", options.threads), options.threads)
    parameters = len(predict.description["inputs"]) - 1
    step = training.Step(compiler.step(options.network, options.threads), options.threads)
    losses = []
    if found:
        training.restore(step, found, path)
        losses = list(found["losses"])
        print(f"goes on after step {len(losses)} of {path}")
    else:
        initialise(step, parameters, options.seed)

    def checkpoint():
        training.save(path, {**step.tensors(), "losses": np.array(losses, "float32")}, about)

    numbers = progress(range(len(losses), options.steps))
    for number, batch in zip(numbers, batches(*given, options.seed, len(losses))):
        losses.append(step.run(*batch))
        if (number + 1) % options.save_every == 0:
            checkpoint()
        if hasattr(numbers, "set_postfix_str"):
            numbers.set_postfix_str(f"loss {losses[-1]:.4f}", refresh=False)
    checkpoint()
    scores = np.zeros((len(test[0]), 10), "float32")
    predict.run([*step.now[:parameters], test[0]], [scores])
    right = np.count_nonzero(scores.argmax(1) == test[1])
    print(f"{len(losses)} steps, loss {losses[-1]:.4f}; right: {right} of {len(test[0])} test images, {right / len(test[0]):.2%}")
    print(f"wrote {path}")
    plot(losses, os.path.join(options.folder, options.network + "_loss.png"))


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", choices=["mlp", "cnn"])
    parser.add_argument("--steps", type=positive, default=880, help="so many in all; 880 are 40 times through the digits")
    parser.add_argument("--seed", type=positive, default=1, help="of the first weights and of the order of images")
    parser.add_argument("--data", help="a .npz file with `images`, 64 numbers each, and `labels`; scikit-learn's digits otherwise")
    parser.add_argument("--folder", default="digits", help="where everything is written; it goes on with a checkpoint there")
    parser.add_argument("--save-every", type=positive, default=22, help="steps from one checkpoint to the next")
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--relay", default=os.path.join(ROOT, "relay"), help="the command")
    try:
        train(parser.parse_args())
    except (training.Failed, MemoryError, OSError, RuntimeError) as error:
        sys.exit(f"{sys.argv[0]}: {error}")


if __name__ == "__main__":
    main()
