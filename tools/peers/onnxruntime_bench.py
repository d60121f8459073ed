"""Times an ONNX model on ONNX Runtime, in float32 on the CPU: what `relay bench --compare onnxruntime` runs.

Arguments: MODEL INPUTS RUNS WARM_UP THREADS, where INPUTS is a folder of NAME.npy. Prints the seconds of the runs as JSON.
"""

import json
import os
import sys
import time
from urllib.parse import unquote

import numpy
import onnxruntime

model, folder, runs, warm_up, threads = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
inputs = {unquote(name[:-4]): numpy.load(os.path.join(folder, name)) for name in os.listdir(folder)}
seconds = []
for i in range(warm_up + runs):
    begin = time.perf_counter()
    session.run(None, inputs)
    seconds.append(time.perf_counter() - begin)
print(json.dumps({"version": onnxruntime.__version__, "seconds": seconds[warm_up:]}))
