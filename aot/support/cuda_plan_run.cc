// A run of a plan of static dataflow on a GPU; part of the artifacts that have one
// (see interface.cc).
//
// It puts everything into the context's stream and waits once, at its end.

namespace {

void start_workspace(unsigned char*, const relay_allocator*) {}
void end_workspace(unsigned char*) {}

// A run that has begun. What is in the stream has to end before the caller's memory is his again.
class Begun {
 public:
  explicit Begun(cudaStream_t stream) : stream_(stream) {}
  ~Begun() {
    if (!ended_) cudaStreamSynchronize(stream_);
  }
  Begun(const Begun&) = delete;
  cudaError_t end() {
    ended_ = true;
    return cudaStreamSynchronize(stream_);
  }

 private:
  cudaStream_t stream_;
  bool ended_ = false;
};

relay_status run_tensors(relay_context* c, const DLTensor* const* inputs, DLTensor* const* outputs,
                         const int64_t* variables) {
  c->stop.start_run();
  relay_status placed = place_outputs(c, inputs, outputs, variables);
  if (placed == RELAY_OK) placed = check_apart(c, inputs, outputs);
  if (placed != RELAY_OK) return placed;
  const OnDevice here(c->model->device);
  if (here.error != cudaSuccess) return failed(c, "the device of the model cannot be used", here.error);
  Begun begun(c->stream);
  Run r;
  r.stream = c->stream;
  r.weights = c->model->weights;
  r.workspace = c->device_memory;
  r.failures = reinterpret_cast<int32_t*>(c->device_memory + kFailuresAt);
  r.stop = &c->stop;
  cudaError_t error = kFailureWords > 0
                          ? cudaMemsetAsync(r.failures, 0, kFailureWords * sizeof(int32_t), c->stream)
                          : cudaSuccess;
  for (size_t i = 0; i < kInputCount && error == cudaSuccess; ++i) {
    r.inputs[i] = memory_of(*inputs[i]);
    if (in_place(*inputs[i]) || kInputs[i].bytes == 0) continue;
    error =
        cudaMemcpyAsync(c->device_memory + kInputPlaces[i], r.inputs[i], kInputs[i].bytes,
                        on_gpu(*inputs[i]) ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice, c->stream);
    r.inputs[i] = c->device_memory + kInputPlaces[i];
  }
  if (error != cudaSuccess) return failed(c, "the inputs could not be copied to the device", error);
  for (size_t i = 0; i < kOutputCount; ++i)
    r.outputs[i] = in_place(*outputs[i]) ? memory_of(*outputs[i]) : c->device_memory + kOutputPlaces[i];
  const char* step = run_steps(r);
  if (r.stopped != 0) return report(c, r.stopped, nullptr);
  if (step != nullptr) return failed(c, step, r.error);
  for (size_t i = 0; i < kOutputCount && error == cudaSuccess; ++i) {
    if (in_place(*outputs[i]) || kOutputs[i].bytes == 0) continue;
    error =
        cudaMemcpyAsync(memory_of(*outputs[i]), r.outputs[i], kOutputs[i].bytes,
                        on_gpu(*outputs[i]) ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost, c->stream);
  }
  if (error == cudaSuccess && kFailureWords > 0)
    error = cudaMemcpyAsync(c->failures, r.failures, kFailureWords * sizeof(int32_t), cudaMemcpyDeviceToHost,
                            c->stream);
  if (error == cudaSuccess) error = begun.end();
  if (error != cudaSuccess) return failed(c, "the run failed on the device", error);
  for (size_t i = 0; i < kFailureWords; ++i) {
    if (c->failures[i] != 0) return report(c, kTrapped, kMessages[i][0x7fffffff - c->failures[i] - 1]);
  }
  return RELAY_OK;
}

}  // namespace
