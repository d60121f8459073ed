"""python3 -m zoo OUT_DIR [NAME...]: writes the networks as ONNX files."""

import sys

try:
    from .command import main
except ModuleNotFoundError as error:
    sys.exit(f"zoo: the Python package `{error.name}` is missing; see requirements.txt")

if __name__ == "__main__":
    sys.exit(main())
