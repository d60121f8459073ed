// Layers that a VTA computes, through the driver that the caller gives; part of the artifacts that
// have such layers (see interface.cc). Their tables come from aot/vta_layers.cc.
//
// A model has all its memory on the VTA: constants, the instructions of each layer, and buffers for
// the tensors of the layer that runs, which all layers share. So layers of all contexts run one
// after the other. Each context packs and unpacks in memory of its own.

// What a model has on the VTA.
struct Vta {
  relay_vta_driver driver;
  pthread_mutex_t lock;  // of the driver and the buffers of tensors
  uint64_t addresses[kVtaBufferCount];
  size_t allocated;  // buffers
};

struct VtaContext {
  Vta* vta;
  unsigned char* packed;  // kVtaPackedBytes
  char error[256];        // why the last layer failed
};

// The text of a driver's failure, with what it says itself.
void say_driver(const relay_vta_driver& driver, int32_t code, const char* what, char* to, size_t size) {
  const char* why = driver.error != nullptr ? driver.error(driver.self) : nullptr;
  if (why != nullptr && why[0] != 0) {
    say(to, size, "the driver of the VTA %s: %s", what, why);
  } else if (code == RELAY_VTA_NO_MEMORY) {
    say(to, size, "the driver of the VTA %s: there is no room", what);
  } else {
    say(to, size, "the driver of the VTA %s: code %d", what, static_cast<int>(code));
  }
}

relay_status status_of(int32_t code) {
  return code == RELAY_VTA_OK ? RELAY_OK : code == RELAY_VTA_NO_MEMORY ? RELAY_LIMIT : RELAY_UNSUPPORTED;
}

const relay_vta_params* needed_vta() { return &kNeededVta; }

// --- Opening -------------------------------------------------------------------------------------

relay_status check_vta_params(const relay_vta_params* is, char* error, size_t error_size) {
  if (is == nullptr || is->struct_size < sizeof *is) {
    say(error, error_size, "`params` of the VTA's driver %s",
        is == nullptr ? "is null" : "is of no version that there is: set its struct_size to sizeof");
    return RELAY_USAGE;
  }
  for (const VtaParam& p : kVtaParams) {
    if (is->*p.member == kNeededVta.*p.member) continue;
    say(error, error_size,
        "the model was compiled for a VTA with %s = %d (--target), and the driver's has %d", p.name,
        static_cast<int>(kNeededVta.*p.member), static_cast<int>(is->*p.member));
    return RELAY_UNSUPPORTED;
  }
  return RELAY_OK;
}

relay_status read_driver(Vta* vta, const relay_vta_driver* given, char* error, size_t error_size) {
  if (given == nullptr) {
    say(error, error_size, "layers of the model run on a VTA: give its driver as `vta` of the options");
    return RELAY_UNSUPPORTED;
  }
  if (given->struct_size < sizeof *given) {
    say(error, error_size,
        "`vta` of the options is of no version that there is: set its struct_size to sizeof");
    return RELAY_USAGE;
  }
  vta->driver = *given;
  if (given->allocate == nullptr || given->release == nullptr || given->write == nullptr ||
      given->read == nullptr || given->run == nullptr) {
    say(error, error_size, "`vta` of the options has a function that is null");
    return RELAY_USAGE;
  }
  return check_vta_params(given->params, error, error_size);
}

relay_status allocate_buffers(Vta* vta, char* error, size_t error_size) {
  for (const VtaBuffer& b : kVtaBuffers) {
    uint64_t address = 0;
    const int32_t code = vta->driver.allocate(vta->driver.self, b.bytes, &address);
    if (code != RELAY_VTA_OK) {
      char what[64];
      say(what, sizeof what, "has not allocated %llu bytes", static_cast<unsigned long long>(b.bytes));
      say_driver(vta->driver, code, what, error, error_size);
      return status_of(code);
    }
    vta->addresses[vta->allocated++] = address;
    if (address % 4096 == 0 && address <= UINT32_MAX && b.bytes <= (uint64_t{1} << 32) - address) continue;
    say(error, error_size,
        "the driver of the VTA has allocated address 0x%llx, and no instruction reaches it",
        static_cast<unsigned long long>(address));
    return RELAY_UNSUPPORTED;
  }
  return RELAY_OK;
}

// The instructions of a layer for the addresses of its buffers. In the artifact, `dram_base` counts
// from the begin of a buffer.
void link_stream(const Vta& vta, const VtaLayer& layer, const unsigned char* weights, unsigned char* stream) {
  const auto* buffers = reinterpret_cast<const uint32_t*>(weights + layer.buffers);
  for (size_t i = 0; i < layer.instructions; ++i) {
    const uint32_t buffer = buffers[i];
    if (buffer == kVtaNoBuffer) continue;
    uint64_t word;
    memcpy(&word, stream + i * kVtaInstructionBytes, sizeof word);
    word += (vta.addresses[buffer] >> kVtaBuffers[buffer].log_element) << kVtaDramBaseBit;
    memcpy(stream + i * kVtaInstructionBytes, &word, sizeof word);
  }
}

relay_status write_contents(Vta* vta, const unsigned char* weights, const relay_allocator& memory,
                            char* error, size_t error_size) {
  unsigned char* stream =
      static_cast<unsigned char*>(memory.allocate(memory.self, kVtaStreamBytes, kAlignment));
  if (stream == nullptr) {
    say(error, error_size, "there is no memory for the instructions of the VTA");
    return RELAY_LIMIT;
  }
  int32_t code = RELAY_VTA_OK;
  const auto write = [&](size_t buffer, const unsigned char* bytes) {
    if (code == RELAY_VTA_OK)
      code = vta->driver.write(vta->driver.self, vta->addresses[buffer], bytes, kVtaBuffers[buffer].bytes);
  };
  for (size_t i = kVtaShared; i < kVtaBufferCount; ++i) {
    if (kVtaBuffers[i].layer < 0) write(i, weights + kVtaBuffers[i].contents);
  }
  for (size_t i = kVtaShared; i < kVtaBufferCount; ++i) {
    if (kVtaBuffers[i].layer < 0) continue;
    memcpy(stream, weights + kVtaBuffers[i].contents, kVtaBuffers[i].bytes);
    link_stream(*vta, kVtaLayers[kVtaBuffers[i].layer], weights, stream);
    write(i, stream);
  }
  if (code != RELAY_VTA_OK) say_driver(vta->driver, code, "has not written the constants", error, error_size);
  memory.release(memory.self, stream, kVtaStreamBytes);
  return status_of(code);
}

// Gives back what is on the VTA.
void close_vta(Vta* vta) {
  while (vta->allocated > 0) vta->driver.release(vta->driver.self, vta->addresses[--vta->allocated]);
  pthread_mutex_destroy(&vta->lock);
}

// `vta` is zero, and stays so on failure.
relay_status open_vta(Vta* vta, const relay_open_options& options, const unsigned char* weights,
                      const relay_allocator& memory) {
  relay_status status = read_driver(vta, options.vta, options.error, options.error_size);
  if (status != RELAY_OK) return status;
  pthread_mutex_init(&vta->lock, nullptr);
  status = allocate_buffers(vta, options.error, options.error_size);
  if (status == RELAY_OK) status = write_contents(vta, weights, memory, options.error, options.error_size);
  if (status != RELAY_OK) close_vta(vta);
  return status;
}

bool create_vta_context(VtaContext* c, Vta* vta, const relay_allocator& memory) {
  c->vta = vta;
  c->packed = static_cast<unsigned char*>(memory.allocate(memory.self, kVtaPackedBytes, kAlignment));
  return c->packed != nullptr;
}

void free_vta_context(VtaContext* c, const relay_allocator& memory) {
  if (c->packed != nullptr) memory.release(memory.self, c->packed, kVtaPackedBytes);
  c->packed = nullptr;
}

// --- Runs ----------------------------------------------------------------------------------------

size_t vta_blocks(const VtaTensor& t) { return (t.extents[1] + kVtaBlock - 1) / kVtaBlock; }
size_t packed_bytes(const VtaTensor& t) {
  const size_t batches = (t.extents[0] + kVtaBatch - 1) / kVtaBatch;
  return batches * vta_blocks(t) * t.extents[2] * t.extents[3] * kVtaBatch * kVtaBlock;
}

// A vector of the VTA is one pixel: BLOCK channels of BATCH images. Vectors lie in the order of
// batches, blocks and pixels. Calls f(number in the tensor, number in the packed bytes).
template <class F>
void for_each_packed(const VtaTensor& t, const F& f) {
  const size_t rows = t.extents[2], columns = t.extents[3];
  for (size_t n = 0; n < t.extents[0]; ++n) {
    for (size_t c = 0; c < t.extents[1]; ++c) {
      size_t at = (n / kVtaBatch * vta_blocks(t) + c / kVtaBlock) * rows * columns * kVtaBatch * kVtaBlock +
                  n % kVtaBatch * kVtaBlock + c % kVtaBlock;
      for (size_t y = 0; y < rows; ++y) {
        const size_t row = n * t.steps[0] + c * t.steps[1] + y * t.steps[2];
        for (size_t x = 0; x < columns; ++x, at += kVtaBatch * kVtaBlock) f(row + x * t.steps[3], at);
      }
    }
  }
}

void pack(const VtaTensor& t, const void* tensor, unsigned char* packed) {
  memset(packed, 0, packed_bytes(t));
  const unsigned char* from = static_cast<const unsigned char*>(tensor);
  for_each_packed(t, [=](size_t i, size_t at) { packed[at] = from[i]; });
}

void unpack(const VtaTensor& t, const unsigned char* packed, void* tensor) {
  unsigned char* to = static_cast<unsigned char*>(tensor);
  for_each_packed(t, [=](size_t i, size_t at) { to[i] = packed[at]; });
}

// The driver's part of a layer: inputs are packed one behind the other, and the result takes
// their place.
int32_t run_packed(VtaContext* c, const VtaLayer& layer, const char** what) {
  const relay_vta_driver& driver = c->vta->driver;
  const uint64_t* addresses = c->vta->addresses;
  const unsigned char* next = c->packed;
  for (size_t i = 0; i < layer.inputs; ++i) {
    const VtaTensor& t = layer.tensors[i + 1];
    *what = "has not written an input of";
    if (const int32_t code = driver.write(driver.self, addresses[i + 1], next, packed_bytes(t))) return code;
    next += packed_bytes(t);
  }
  *what = "has not run";
  if (const int32_t code = driver.run(driver.self, addresses[layer.stream], layer.instructions)) return code;
  *what = "has not read the result of";
  return driver.read(driver.self, addresses[0], c->packed, packed_bytes(layer.tensors[0]));
}

// Returns 0, kLimit or kDevice; after a failure c->error says why.
int32_t run_layer(VtaContext* c, const VtaLayer& layer, const void* const* inputs, void* result) {
  unsigned char* next = c->packed;
  for (size_t i = 0; i < layer.inputs; ++i) {
    pack(layer.tensors[i + 1], inputs[i], next);
    next += packed_bytes(layer.tensors[i + 1]);
  }
  const char* what = "";
  pthread_mutex_lock(&c->vta->lock);
  const int32_t code = run_packed(c, layer, &what);
  if (code != RELAY_VTA_OK) {
    char call[160];
    say(call, sizeof call, "%s layer `%s`", what, layer.name);
    say_driver(c->vta->driver, code, call, c->error, sizeof c->error);
  }
  pthread_mutex_unlock(&c->vta->lock);
  if (code != RELAY_VTA_OK) return code == RELAY_VTA_NO_MEMORY ? kLimit : kDevice;
  unpack(layer.tensors[0], c->packed, result);
  return 0;
}
