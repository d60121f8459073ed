"""Programs with control flow, in the language and in PyTorch: cells over lists, a generator, trees, a transformer."""
