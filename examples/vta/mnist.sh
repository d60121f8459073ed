#!/bin/sh
# From an ONNX model to the cycles of a VTA, in three commands: `examples/vta/mnist.sh ./relay`.
# Writes mnist8.relay, mnist8.vta and roofline.svg into the current folder.
set -eu
relay=$1
models=$(dirname "$0")/../models/mnist_8

# 1. Floats become integers of 8 bits, and quotients of scales become shifts.
"$relay" opt "$models/model.onnx" -o mnist8.relay \
    --passes 'simplify-inference,inline-lets,fold-constants,quantise-global{bits=8,scale=8}'

# 2. Layers run on the simulator. The profile says what each takes, and what stays on the CPU and why.
"$relay" run mnist8.relay --engine vta --inputs "$models/inputs" --profile --plot roofline.svg

# 3. The instructions, each with the operator that it comes from.
"$relay" compile mnist8.relay --emit vta -o mnist8.vta
