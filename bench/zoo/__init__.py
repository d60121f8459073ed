"""Seeded ONNX files of the networks that the benchmarks use. `python3 -m zoo --help` says how to make them.

Needs only `onnx` and `numpy`. Weights are random but fixed by each network's name.
`zoo.catalogue.NETWORKS` has them all.
"""
