// The caller's tensors against what the model takes and gives; part of every artifact (see
// interface.cc). Where a tensor may be is the machine's to say: check_device of model.cc
// and cuda_model.cc.

namespace {

// Do the elements stand in order, without gaps? Where there are none, strides say nothing. The
// number of elements fits 64 bits.
bool dense(const DLTensor& t) {
  if (t.strides == nullptr) return true;
  for (int32_t d = 0; d < t.ndim; ++d) {
    if (t.shape[d] == 0) return true;
  }
  int64_t expected = 1;
  for (int32_t d = t.ndim; d-- > 0;) {
    if (t.shape[d] != 1 && t.strides[d] != expected) return false;
    expected *= t.shape[d];
  }
  return true;
}

// The extent that a port asks for where shape variables have these values; kUnknown if
// it is not known.
int64_t extent_wanted(int64_t extent, const int64_t* variables) {
  return extent >= 0 || extent == kUnknown ? extent : dynamic_extent(-1 - extent, variables);
}

constexpr int32_t kMostRankShown = 16;  // more is memory that was never set

void show_shape(char* to, size_t size, const int64_t* shape, int32_t rank) {
  size_t used = static_cast<size_t>(snprintf(to, size, "("));
  for (int32_t d = 0; d < rank && used < size; ++d) {
    used += static_cast<size_t>(
        snprintf(to + used, size - used, d ? ", %lld" : "%lld", static_cast<long long>(shape[d])));
  }
  if (used < size) snprintf(to + used, size - used, ")");
}

// "float64", "bool", "int8x4"
void show_dtype(char* to, size_t size, DLDataType t) {
  static constexpr const char* kNames[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  char lanes[16] = "", bits[16] = "";
  if (t.lanes != 1) snprintf(lanes, sizeof lanes, "x%u", static_cast<unsigned>(t.lanes));
  if (t.code != kDLBool || t.bits != 8) snprintf(bits, sizeof bits, "%u", static_cast<unsigned>(t.bits));
  if (t.code < sizeof kNames / sizeof kNames[0]) {
    snprintf(to, size, "%s%s%s", kNames[t.code], bits, lanes);
  } else {
    snprintf(to, size, "of dtype code %u with %u bits", static_cast<unsigned>(t.code),
             static_cast<unsigned>(t.bits));
  }
}

// The shape that a tensor has, or what it lacks for one.
void show_given(char* to, size_t size, const DLTensor& t) {
  if (t.ndim < 0 || t.ndim > kMostRankShown) {
    snprintf(to, size, "rank %d", static_cast<int>(t.ndim));
  } else if (t.shape == nullptr && t.ndim > 0) {
    snprintf(to, size, "none: `shape` is null");
  } else {
    show_shape(to, size, t.shape, t.ndim);
  }
}

// "(4, n = 3, ?)"
void show_wanted(char* to, size_t size, const Port& port, const int64_t* variables) {
  size_t used = static_cast<size_t>(snprintf(to, size, "("));
  const auto add = [&](const char* text) {
    if (used < size) used += static_cast<size_t>(snprintf(to + used, size - used, "%s", text));
  };
  for (int32_t d = 0; d < port.rank; ++d) {
    const int64_t extent = extent_wanted(port.shape[d], variables);
    char number[32];
    snprintf(number, sizeof number, "%lld", static_cast<long long>(extent));
    if (d > 0) add(", ");
    if (port.shape[d] == kUnknown) {
      add("?");
    } else if (port.shape[d] < 0) {
      add(kExtentTexts[-1 - port.shape[d]]);
      if (extent != kUnknown) add(" = "), add(number);
    } else {
      add(number);
    }
  }
  add(")");
}

size_t element_bytes(unsigned dtype_bits) { return dtype_bits < 8 ? 1 : dtype_bits / 8; }
size_t element_bytes(const Port& port) { return element_bytes(port.dtype_bits); }

relay_status check_tensor(relay_context* c, const char* role, const Port& port, const DLTensor* t,
                          const int64_t* variables) {
  if (t == nullptr) {
    say(c->error, kErrorSize, "%s `%s` is null", role, port.name);
    return RELAY_USAGE;
  }
  if (!check_device(c, role, port, *t)) return RELAY_USAGE;
  if (t->dtype.code != port.dtype_code || t->dtype.bits != port.dtype_bits || t->dtype.lanes != 1) {
    char got[64];
    show_dtype(got, sizeof got, t->dtype);
    say(c->error, kErrorSize, "%s `%s` must be %s, it is %s", role, port.name, port.dtype_name, got);
    return RELAY_USAGE;
  }
  bool fits = t->ndim == port.rank && (t->ndim == 0 || t->shape != nullptr);
  for (int32_t d = 0; fits && d < port.rank; ++d) {
    const int64_t wanted = extent_wanted(port.shape[d], variables);
    fits = t->shape[d] >= 0 && (wanted == kUnknown || t->shape[d] == wanted);
  }
  if (!fits) {
    char want[128], got[128];
    show_wanted(want, sizeof want, port, variables);
    show_given(got, sizeof got, *t);
    say(c->error, kErrorSize, "%s `%s` must have shape %s, it has %s", role, port.name, want, got);
    return RELAY_USAGE;
  }
  size_t bytes;
  if (!count_bytes(element_bytes(port), static_cast<uint32_t>(t->ndim), t->shape, &bytes)) {
    say(c->error, kErrorSize, "%s `%s` has more bytes than there can be", role, port.name);
    return RELAY_USAGE;
  }
  if (!dense(*t)) {
    say(c->error, kErrorSize, "%s `%s` is not dense and row-major: copy it first", role, port.name);
    return RELAY_USAGE;
  }
  const unsigned char* data = memory_of(*t);
  if (bytes > 0 && (t->data == nullptr || reinterpret_cast<uintptr_t>(data) % element_bytes(port) != 0)) {
    say(c->error, kErrorSize, "%s `%s` has %s", role, port.name,
        t->data == nullptr ? "no data" : "data that is not aligned for its dtype");
    return RELAY_USAGE;
  }
  return RELAY_OK;
}

// Shape variables take their values where an input mentions them alone, others follow; then every
// input is checked.
relay_status check_inputs(relay_context* c, const DLTensor* const* inputs, int64_t* variables) {
  for (size_t i = 0; i < kVariableCount; ++i) variables[i] = kUnknown;
  for (size_t i = 0; i < kInputCount; ++i) {
    const DLTensor* t = inputs[i];
    if (t == nullptr || t->ndim != kInputs[i].rank || t->shape == nullptr) continue;
    for (int32_t d = 0; d < t->ndim; ++d) {
      const int64_t extent = kInputs[i].shape[d];
      if (extent >= 0 || extent == kUnknown) continue;
      const size_t variable = static_cast<size_t>(-1 - extent);
      if (variable < kVariableCount && variables[variable] == kUnknown) variables[variable] = t->shape[d];
    }
  }
  solve_variables(inputs, variables);
  for (size_t i = 0; i < kVariableCount; ++i) {
    if (variables[i] <= kVariableBounds[i]) continue;
    say(c->error, kErrorSize, "`%s` is %lld, the model was compiled for at most %lld", kExtentTexts[i],
        static_cast<long long>(variables[i]), static_cast<long long>(kVariableBounds[i]));
    return RELAY_USAGE;
  }
  for (size_t i = 0; i < kInputCount; ++i) {
    const relay_status status = check_tensor(c, "input", kInputs[i], inputs[i], variables);
    if (status != RELAY_OK) return status;
  }
  for (size_t i = 0; i < kVariableCount; ++i) {
    if (variables[i] >= 0 || variables[i] == kUnknown) continue;
    say(c->error, kErrorSize, "`%s` would be %lld", kExtentTexts[i], static_cast<long long>(variables[i]));
    return RELAY_USAGE;
  }
  return RELAY_OK;
}

// Where the elements of a tensor are, that was checked; nowhere if it has none or no memory yet.
struct Bytes {
  uintptr_t begin, end;
};
Bytes bytes_of(const Port& port, const DLTensor& t) {
  size_t bytes = 0;
  if (t.data == nullptr ||
      !count_bytes(element_bytes(port), static_cast<uint32_t>(t.ndim), t.shape, &bytes) || bytes == 0)
    return {0, 0};
  const uintptr_t begin = reinterpret_cast<uintptr_t>(memory_of(t));
  return {begin, begin + bytes};
}
bool overlap(Bytes a, Bytes b) { return a.begin < b.end && b.begin < a.end; }

bool may_replace(size_t output, size_t input) {
  for (size_t i = 0; i < kInPlaceCount; ++i) {
    if (kInPlacePairs[i].output == output && kInPlacePairs[i].input == input) return true;
  }
  return false;
}

// An output shares no memory but that of an input which it may replace, then all of it. Looks at
// each pair of an output and another tensor.
relay_status check_apart(relay_context* c, const DLTensor* const* inputs, DLTensor* const* outputs) {
  Bytes in[kInputCount + 1], out[kOutputCount + 1];
  for (size_t i = 0; i < kInputCount; ++i) in[i] = bytes_of(kInputs[i], *inputs[i]);
  for (size_t o = 0; o < kOutputCount; ++o) {
    out[o] = bytes_of(kOutputs[o], *outputs[o]);
    for (size_t i = 0; i < kInputCount; ++i) {
      if (!overlap(out[o], in[i])) continue;
      const bool may = may_replace(o, i);
      if (may && out[o].begin == in[i].begin) continue;
      say(c->error, kErrorSize, "output `%s` lies on input `%s`: %s", kOutputs[o].name, kInputs[i].name,
          may ? "give it all of that memory or none" : "give it other memory");
      return RELAY_USAGE;
    }
    for (size_t other = 0; other < o; ++other) {
      if (!overlap(out[o], out[other])) continue;
      say(c->error, kErrorSize, "output `%s` lies on output `%s`: give it other memory", kOutputs[o].name,
          kOutputs[other].name);
      return RELAY_USAGE;
    }
  }
  return RELAY_OK;
}

// Does an input lie in this memory, or have these extents? One without elements has only extents.
bool is_read(const DLTensor* const* inputs, const void* memory, size_t bytes, const int64_t* shape) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(memory);
  for (size_t i = 0; i < kInputCount; ++i) {
    if (inputs[i]->shape == shape) return true;
    if (overlap(bytes_of(kInputs[i], *inputs[i]), {begin, begin + bytes})) return true;
  }
  return false;
}

template <class T>
void exchange(T& a, T& b) {
  T before = a;
  a = b;
  b = before;
}

// An output that still has what the context gave it in the run before is one without memory: the
// caller uses its tensor again. It stays where it is if it may replace an input there.
void forget_held(const void* held, size_t output, const DLTensor* const* inputs, DLTensor* t) {
  if (t == nullptr || held == nullptr || t->data != held) return;
  for (size_t i = 0; i < kInputCount; ++i) {
    if (inputs[i]->data == held && may_replace(output, i)) return;
  }
  t->data = nullptr;
}

// An output that the context holds. The caller's tensor refers to its memory and to its extents.
void describe_held(size_t i, void* memory, int64_t* shape, DLTensor* t) {
  memset(t, 0, sizeof *t);
  t->data = memory;
  t->device.device_type = kDLCPU;
  t->ndim = kOutputs[i].rank;
  t->dtype.code = kOutputs[i].dtype_code;
  t->dtype.bits = kOutputs[i].dtype_bits;
  t->dtype.lanes = 1;
  t->shape = shape;
}

}  // namespace
