"""Programs with control flow, in the language and in PyTorch: recurrent cells over lists, a generator, trees, a transformer."""
