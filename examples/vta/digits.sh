#!/bin/sh
# What integers of 8 bits cost in accuracy, on a processor and on a VTA: `examples/vta/digits.sh ./relay`.
# Writes digits.relay and the scores of three runs into the current folder.
set -eu
relay=$1
here=$(dirname "$0")/digits

"$relay" opt "$here/model.onnx" -o digits.relay \
    --passes 'simplify-inference,inline-lets,fold-constants,quantise-global{bits=8,scale=8}'

# scores MODEL ENGINE FILE
scores() {
    "$relay" run "$1" --engine "$2" --inputs "$here/inputs" -o "$3" > /dev/null
}
scores "$here/model.onnx" jit float32.npz
scores digits.relay jit jit.npz
scores digits.relay vta vta.npz

python3 "$here/accuracy.py" "$here/labels.npy" float32.npz jit.npz vta.npz
