#!/usr/bin/python3
"""Sequences whose elements live only while somebody holds them, and containers that change while they are read."""

import unittest
from collections.abc import Sequence

import numpy as np

import relay


class Item:
    """Notes when it is used, and when it is gone."""

    def __init__(self, events, value):
        self.events, self.value = events, value

    def __index__(self):
        self.events.append("used")
        return self.value

    def __del__(self):
        self.events.append("gone")


class Fresh(Sequence):
    def __init__(self, make, values):
        self.make, self.values = make, values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.make(self.values[i])


class FreshList(list):
    def __init__(self, make, values):
        super().__init__(values)
        self.make = make

    def __getitem__(self, i):
        return self.make(super().__getitem__(i))


class SequencesTest(unittest.TestCase):
    def setUp(self):
        self.events = []

    def item(self, value):
        return Item(self.events, value)

    def used_before_gone(self, count):
        self.assertEqual(self.events.count("gone"), count)
        self.assertGreaterEqual(self.events.count("used"), count)
        for i in range(len(self.events)):
            self.assertGreaterEqual(self.events[: i + 1].count("used"), self.events[: i + 1].count("gone"), self.events)

    def test_extents(self):
        self.assertEqual(relay.Tensor(Fresh(self.item, [2, 3])).shape, (2, 3))
        self.used_before_gone(2)
        self.assertEqual(relay.Tensor(np.array([2, 3]), "int8").shape, (2, 3))

    def test_the_shape_of_a_spec(self):
        class Spec:
            shape, dtype = Fresh(self.item, [2, 3]), np.dtype(np.float32)

        model = relay.trace(lambda x: x, [Spec()])
        self.used_before_gone(2)
        self.assertIn("Tensor[(2, 3), float32]", model["main"].type)

    def test_attributes(self):
        model = relay.trace(lambda x: relay.ops.reshape(x, newshape=FreshList(self.item, [3, 2])), ["Tensor[(2, 3), float32]"])
        self.used_before_gone(2)
        self.assertIn("Tensor[(3, 2), float32]", model["main"].type)

    def test_words(self):
        b = relay.Builder()
        names = FreshList(lambda word: word * 100, ["A", "B"])
        b.function("A" * 100, "B" * 100, result="B" * 100, name="second", type_parameters=names)(lambda x, y: y)
        self.assertIn(f"[{'A' * 100}, {'B' * 100}]", str(b.module()))

    def test_values(self):
        """All elements are held before the first is read."""
        alive, most = [], []

        class Element(np.ndarray):
            def __del__(self):
                alive.pop()

        def element(value):
            alive.append(1)
            most.append(len(alive))
            return np.full(2, value, np.float32).view(Element)

        model = relay.parse("""import "prelude"
        def @main(%xs: List[Tensor[(2), float32]]) { @map(fn (%x: Tensor[(2), float32]) { add(%x, 1f) }, %xs) }""")
        for f in (relay.jit(model), relay.compile(model, level=1)):
            most.clear()
            np.testing.assert_array_equal(f(FreshList(element, [1, 2, 3])), [[2, 2], [3, 3], [4, 4]])
            self.assertEqual(max(most), 3)

    def test_parts_of_a_tuple(self):
        def pair(x):
            return FreshList(lambda value: np.full(2, value, np.float32), [1, 2]), x

        (one, two), x = relay.interpret(relay.trace(pair, ["float32"]), 3.0)
        np.testing.assert_array_equal([one, two], [[1, 1], [2, 2]])
        self.assertEqual(x, 3)

    def test_arms_that_change_the_arms(self):
        b = relay.Builder()
        tree = b.data("Tree", Leaf=(), Node=("Tree", "int64"))

        @b.function("Tree", result="int64")
        def main(t):
            def leaf():
                arms.clear()
                arms.update({str(i): i for i in range(1000)})
                return 1

            arms = {tree.Leaf: leaf, tree.Node: lambda below, x: x}
            return relay.match(t, arms)

        model = b.module()
        leaf = relay.Data("Leaf")
        self.assertEqual([int(relay.interpret(model, t)) for t in (leaf, relay.Data("Node", (leaf, 7)))], [1, 7])


if __name__ == "__main__":
    unittest.main()
