"""Trains a network that writes like the pages of docs/, one character after the other. README.md says how."""

import argparse
import glob
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "train_digits"))
import training  # noqa: E402  what serves any step

TEXTS, LENGTH, OTHER = 16, 64, 95  # texts of a batch, their characters, the number of what is no printable ASCII


def read(pattern):
    """Characters as numbers: printable ASCII from 0 on, all else, line ends above all, 95."""
    paths = sorted(glob.glob(pattern))
    codes = np.frombuffer("".join(open(p, encoding="utf-8").read() for p in paths).encode("ascii", "ignore"), "uint8")
    if len(codes) < 40 * (LENGTH + 1):
        raise training.Failed(f"{pattern}: {len(paths)} files have {len(codes)} characters, and {40 * (LENGTH + 1)} are needed")
    numbers = codes.astype("int32") - 32
    return np.where((numbers >= 0) & (numbers < OTHER), numbers, OTHER).astype("int32")


def characters(numbers):
    return "".join("\n" if n == OTHER else chr(n + 32) for n in numbers)


def batch(text, random):
    """Places of a text, a column each: LENGTH characters and the one after them."""
    starts = random.integers(0, len(text) - LENGTH, TEXTS)
    return np.ascontiguousarray(text[starts + np.arange(LENGTH + 1)[:, None]])


def batches(text, seed, first):
    for number in range(first, sys.maxsize):
        yield (batch(text, np.random.default_rng([seed, number])),)


def write(following, parameters, random, count=400):
    """Characters that the network draws, each by its probability."""
    h, c, scores = np.zeros((1, 128), "float32"), np.zeros((1, 128), "float32"), np.zeros((1, 96), "float32")
    out = [OTHER]
    for _ in range(count):
        made = [np.empty_like(h), np.empty_like(c)]
        following.run([*parameters, h, c, np.array(out[-1:], "int32")], [scores, *made])
        h, c = made
        likely = np.exp((scores[0] - scores.max()).astype("float64") / 0.7)
        out.append(int(random.choice(96, p=likely / likely.sum())))
    return characters(out)


def train(options):
    run = training.Run(options)
    text = read(options.data)
    kept = len(text) // 20
    compiler = training.Compiler(options.relay, HERE, options.folder)
    following = training.Function(compiler.function("lstm", "next"), options.threads)
    loss = training.Function(compiler.function("lstm", "loss"), options.threads)
    step = training.Step(compiler.step("lstm"), options.threads)
    parameters = len(loss.description["inputs"]) - 1
    losses = run.go(step, parameters, lambda first: batches(text[:-kept], options.seed, first))
    now, random, one, all_ = step.now[:parameters], np.random.default_rng(0), np.zeros((), "float32"), []
    for _ in range(20):
        loss.run([*now, batch(text[-kept:], random)], [one])
        all_.append(float(one) / np.log(2))
    print(write(following, now, random))
    print(f"{len(losses)} steps, loss {losses[-1]:.4f}; text that was kept: {np.mean(all_):.3f} bits a character")
    training.plot(losses, os.path.join(options.folder, "lstm_loss.png"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.path.join(HERE, "..", "..", "docs", "*.md"), help="files of text")
    parser.set_defaults(network="lstm")
    training.add_options(parser, steps=1000, folder="char_rnn", save_every=100)
    training.run_main(parser, train)


if __name__ == "__main__":
    main()
