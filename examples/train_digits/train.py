"""Trains a network on handwritten digits by a step that `relay` compiled. README.md says how."""

import argparse
import os
import sys

import numpy as np

import training

BATCH = 64


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


def train(options):
    run = training.Run(options)
    given, test = split(*(read(options.data) if options.data else digits()))
    compiler = training.Compiler(options.relay, training.HERE, options.folder)
    predict = training.Function(compiler.function(options.network, "predict"), options.threads)
    parameters = len(predict.description["inputs"]) - 1
    step = training.Step(compiler.step(options.network), options.threads)
    losses = run.go(step, parameters, lambda first: batches(*given, options.seed, first))
    scores = np.zeros((len(test[0]), 10), "float32")
    predict.run([*step.now[:parameters], test[0]], [scores])
    right = np.count_nonzero(scores.argmax(1) == test[1])
    print(f"{len(losses)} steps, loss {losses[-1]:.4f}; right: {right} of {len(test[0])} test images, {right / len(test[0]):.2%}")
    training.plot(losses, os.path.join(options.folder, options.network + "_loss.png"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", choices=["mlp", "cnn"])
    parser.add_argument("--data", help="a .npz file with `images`, 64 numbers each, and `labels`; scikit-learn's digits otherwise")
    training.add_options(parser, steps=880, folder="digits", save_every=22)  # 40 times through the digits
    training.run_main(parser, train)


if __name__ == "__main__":
    main()
