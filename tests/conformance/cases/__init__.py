"""The node cases of the `onnx` wheel and real models of other wheels, on Relay: docs/testing.md."""
