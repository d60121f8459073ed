"""The parts of tests/replay/run: one file a step."""
