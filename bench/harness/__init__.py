"""The parts of bench/run: one file a step."""
