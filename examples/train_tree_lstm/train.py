"""Trains a network over trees to evaluate formulas, which are made on the spot. README.md says how."""

import argparse
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "train_digits"))
import training  # noqa: E402  what serves any step

BATCH = 16
OPERATIONS = [lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b]  # symbols 2, 3, 4


class Forest:
    """Formulas as arrays: the symbol and the two children of each node, which stand before it."""

    def __init__(self):
        self.nodes, self.roots, self.values = [], [], []

    def add(self, random, leaves):
        """A formula with so many values in it, of any form."""
        stack, todo = [], [leaves]  # a number is a formula to be made, None an operation on the last two
        while todo:
            if (size := todo.pop()) == 1:
                value = int(random.integers(2))
                self.nodes.append((value, -1, -1))
                stack.append((len(self.nodes) - 1, value))
            elif size is not None:
                part = int(random.integers(1, size))
                todo += [None, part, size - part]
            else:
                (right, b), (left, a) = stack.pop(), stack.pop()
                symbol = int(random.integers(3))
                self.nodes.append((2 + symbol, left, right))
                stack.append((len(self.nodes) - 1, OPERATIONS[symbol](a, b)))
        (root, value), = stack
        self.roots.append(root)
        self.values.append(value)

    def arrays(self):
        return [np.ascontiguousarray(column) for column in np.array(self.nodes, "int32").T]


def batches(seed, first):
    for number in range(first, sys.maxsize):
        random, forest = np.random.default_rng([seed, number]), Forest()
        for _ in range(BATCH):
            forest.add(random, int(random.integers(2, 13)))
        yield (*forest.arrays(), np.array(forest.roots, "int32"), np.array(forest.values, "int32")[:, None])


def accuracy(predict, parameters, leaves, count=300):
    random, right, scores = np.random.default_rng([0, leaves]), 0, np.zeros((1, 2), "float32")
    for _ in range(count):
        forest = Forest()
        forest.add(random, leaves)
        predict.run([*parameters, *forest.arrays()], [scores])
        right += int(scores.argmax() == forest.values[0])
    return right / count


def train(options):
    run = training.Run(options)
    compiler = training.Compiler(options.relay, HERE, options.folder)
    predict = training.Function(compiler.function("tree_lstm", "predict"), options.threads)
    parameters = len(predict.description["inputs"]) - 3
    step = training.Step(compiler.step("tree_lstm"), options.threads)
    losses = run.go(step, parameters, lambda first: batches(options.seed, first))
    now = step.now[:parameters]
    print(f"{len(losses)} steps, loss {losses[-1]:.4f}; right: {accuracy(predict, now, 12):.1%} of formulas with 12 values, "
          f"{accuracy(predict, now, 40):.1%} with 40, which are longer than any that it was trained on")
    training.plot(losses, os.path.join(options.folder, "tree_lstm_loss.png"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.set_defaults(network="tree_lstm")
    training.add_options(parser, steps=600, folder="tree_lstm", save_every=100)
    training.run_main(parser, train)


if __name__ == "__main__":
    main()
