// Deferred calls of kernels: they wait until something asks for what they compute; part of the
// programs that have such (see emit.cc).
//
// Where recursion branches, calls in different branches do not depend on each other. They are
// written down instead of made; then those that are as far from what was known run as one, kernel
// by kernel, level by level. (G. Neubig, Y. Goldberg, C. Dyer, "On-the-fly Operation Batching in
// Dynamic Computation Graphs", 2017.) No such call can fail, and the shapes of their results are
// constants, so that nothing but the contents of a tensor has to wait.
//
// A result that waits is promised: a view of nothing yet. The results of calls that are made one
// after the other are rows of one tensor, of which the promises become views; the calls that read
// them then often find their inputs side by side.

// A kernel whose calls may wait. Where they share weights, another kernel does many of them at
// once; without weights that is worth it only where their inputs lie side by side already.
struct Batched {
  struct Input {
    size_t bytes;  // of one call
    bool varies;   // from call to call
  };
  struct Output {
    size_t element_bytes, bytes;
    uint32_t rank;
    const int64_t* extents;
  };
  bool shares_weights;  // or waits only for what it reads
  uint32_t input_count, output_count;
  const Input* inputs;
  const Output* outputs;
  Value (*one)(Run& run, const Value* inputs, const Value* outputs);  // null if the run ends
  // Inputs that vary have as many rows as there are calls, and so have the results.
  Value (*many)(Run& run, const Value* inputs);
};

// A deferred call. Its inputs and then its outputs are in `operands`.
struct DeferredCall {
  const Batched* kernel;
  uint32_t operands, level;
};

struct Batches {
  static constexpr uint32_t kMostCalls = 1024, kMostWaiting = 8 * kMostCalls;
  static constexpr size_t kMostBytes = size_t{16} << 20;  // that results of calls which wait may take

  DeferredCall calls[kMostCalls];
  Value operands[kMostWaiting];
  Value views[kMostCalls];  // of results that wait
  uint32_t order[kMostCalls], others[kMostCalls], first_of_level[kMostCalls + 2];
  uint32_t call_count = 0, operand_count = 0, view_count = 0;
  size_t bytes = 0;

  bool has_room(const Batched& k) const {
    return call_count < kMostCalls && operand_count + k.input_count + k.output_count <= kMostWaiting &&
           bytes < kMostBytes;
  }
  const Value* inputs(uint32_t call) const { return operands + calls[call].operands; }
  const Value* outputs(uint32_t call) const { return inputs(call) + calls[call].kernel->input_count; }

  void clear() {
    for (uint32_t i = 0; i < operand_count; ++i) operands[i] = Value();
    for (uint32_t i = 0; i < view_count; ++i) views[i] = Value();
    call_count = operand_count = view_count = 0;
    bytes = 0;
  }

  // Calls of one level beside each other, in the order in which they were written down; how many
  // levels there are.
  uint32_t sort() {
    uint32_t levels = 0;
    for (uint32_t i = 0; i < call_count; ++i) levels = calls[i].level > levels ? calls[i].level : levels;
    for (uint32_t l = 0; l <= levels + 1; ++l) first_of_level[l] = 0;
    for (uint32_t i = 0; i < call_count; ++i) ++first_of_level[calls[i].level + 1];
    for (uint32_t l = 1; l <= levels + 1; ++l) first_of_level[l] += first_of_level[l - 1];
    for (uint32_t i = 0; i < call_count; ++i) order[first_of_level[calls[i].level]++] = i;
    // What is now the end of a level was the beginning of the next one.
    for (uint32_t l = levels + 1; l > 0; --l) first_of_level[l] = first_of_level[l - 1];
    first_of_level[0] = 0;
    return levels;
  }
};

// How many calls must be made, one after the other, before the elements of a tensor are there. They
// are in the tag of the promise.
inline uint32_t level_of(const Value& tensor) {
  Cell* c = tensor.get();
  while (c->count > 0 && c->held()[0] != nullptr) c = c->held()[0];
  return c->tag;
}

// Where the elements of a tensor are, which are there. A view that was made before them
// finds it out here.
inline unsigned char* elements(const Value& tensor) {
  Cell* c = tensor.get();
  while (c->data == nullptr && c->count > 0) c = c->held()[0];
  tensor->data = c->data;
  return static_cast<unsigned char*>(c->data);
}

// Do both calls read the same but for what varies?
inline bool go_together(const Batches& b, uint32_t i, uint32_t j) {
  const Batched& k = *b.calls[i].kernel;
  if (b.calls[j].kernel != &k) return false;
  for (uint32_t x = 0; x < k.input_count; ++x) {
    if (!k.inputs[x].varies && elements(b.inputs(i)[x]) != elements(b.inputs(j)[x])) return false;
  }
  return true;
}

// Output y of each of the calls is a row of the tensor.
inline void keep_promises(const Batches& b, const uint32_t* calls, uint32_t count, uint32_t y,
                          const Value& rows) {
  const size_t bytes = b.calls[calls[0]].kernel->outputs[y].bytes;
  for (uint32_t i = 0; i < count; ++i) {
    Cell* promise = b.outputs(calls[i])[y].get();
    promise->tag = 0;
    promise->data = data<unsigned char>(rows) + i * bytes;
    promise->held()[0] = Value(rows).leave();
  }
}

// As many rows as there are calls; null if there is no memory, which ends the run.
inline Value make_rows(Run& run, uint32_t count, size_t bytes) {
  const int64_t extents[] = {count, static_cast<int64_t>(bytes)};
  return make_tensor(run, 1, 2, extents);
}

inline bool make_one_by_one(Run& run, Batches& b, const uint32_t* calls, uint32_t count) {
  const Batched& k = *b.calls[calls[0]].kernel;
  for (uint32_t y = 0; y < k.output_count; ++y) {
    const Value rows = make_rows(run, count, k.outputs[y].bytes);
    if (!rows) return false;
    keep_promises(b, calls, count, y, rows);
  }
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t x = 0; x < k.input_count; ++x) elements(b.inputs(calls[i])[x]);
    if (!k.one(run, b.inputs(calls[i]), b.outputs(calls[i]))) return false;
  }
  return true;
}

// Does input x of the calls lie side by side, in their order?
inline bool is_side_by_side(const Batches& b, const uint32_t* calls, uint32_t count, uint32_t x) {
  const size_t bytes = b.calls[calls[0]].kernel->inputs[x].bytes;
  const unsigned char* const first = elements(b.inputs(calls[0])[x]);
  for (uint32_t i = 1; i < count; ++i) {
    if (elements(b.inputs(calls[i])[x]) != first + i * bytes) return false;
  }
  return true;
}

inline bool are_side_by_side(const Batches& b, const uint32_t* calls, uint32_t count) {
  const Batched& k = *b.calls[calls[0]].kernel;
  for (uint32_t x = 0; x < k.input_count; ++x) {
    if (k.inputs[x].varies && !is_side_by_side(b, calls, count, x)) return false;
  }
  return true;
}

inline bool make_at_once(Run& run, Batches& b, const uint32_t* calls, uint32_t count) {
  const Batched& k = *b.calls[calls[0]].kernel;
  Value rows[kMostOperands];
  for (uint32_t x = 0; x < k.input_count; ++x) {
    const Batched::Input& input = k.inputs[x];
    if (!input.varies) {
      elements(b.inputs(calls[0])[x]);
      rows[x] = b.inputs(calls[0])[x];
    } else if (is_side_by_side(b, calls, count, x)) {
      const int64_t extents[] = {count, static_cast<int64_t>(input.bytes)};
      rows[x] = make_view(run, elements(b.inputs(calls[0])[x]), 2, extents);
    } else {
      rows[x] = make_rows(run, count, input.bytes);
      for (uint32_t i = 0; rows[x] && input.bytes > 0 && i < count; ++i)
        memcpy(data<unsigned char>(rows[x]) + i * input.bytes, elements(b.inputs(calls[i])[x]), input.bytes);
    }
    if (!rows[x]) return false;
  }
  const Value result = k.many(run, rows);
  if (!result) return false;
  for (uint32_t y = 0; y < k.output_count; ++y)
    keep_promises(b, calls, count, y, k.output_count == 1 ? result : field(result, y));
  return true;
}

// Makes all calls that wait. False if the run ends.
inline bool make_all_calls(Run& run) {
  Batches& b = *run.heap->batches;
  const uint32_t levels = b.sort();
  bool good = true;
  for (uint32_t level = 1; good && level <= levels; ++level) {
    uint32_t* begin = b.order + b.first_of_level[level];
    uint32_t* const end = b.order + b.first_of_level[level + 1];
    while (good && begin != end) {
      if (const int32_t asked = run.stop->asked()) {
        run.fail(asked, nullptr);
        good = false;
        break;
      }
      // Those that go with the first one change places with those that do not, which
      // stay in their order.
      uint32_t together = 1, others = 0;
      for (uint32_t* i = begin + 1; i != end; ++i) {
        if (go_together(b, *begin, *i)) {
          begin[together++] = *i;
        } else {
          b.others[others++] = *i;
        }
      }
      if (others > 0) memcpy(begin + together, b.others, others * sizeof *begin);
      const bool at_once =
          together > 1 && (b.calls[*begin].kernel->shares_weights || are_side_by_side(b, begin, together));
      good = at_once ? make_at_once(run, b, begin, together) : make_one_by_one(run, b, begin, together);
      begin += together;
    }
  }
  for (uint32_t i = 0; good && i < b.view_count; ++i) elements(b.views[i]);
  b.clear();
  return good;
}

// Before the elements of a tensor are read. False if the run ends.
inline bool flush(Run& run) {
  return run.heap->batches == nullptr || run.heap->batches->call_count == 0 || make_all_calls(run);
}

// The result of the program, or of none if it fails. Nothing waits afterwards.
inline Value flushed(Run& run, Value result) {
  if (result && flush(run)) return result;
  if (run.heap->batches != nullptr) run.heap->batches->clear();
  return Value();
}

// The elements of a tensor under another shape.
inline Value view_of(Run& run, const Value& tensor, uint32_t rank, const int64_t* extents) {
  const Value view = make_view(run, tensor->data, rank, extents, tensor);
  if (!view || level_of(view) == 0) return view;
  Batches& b = *run.heap->batches;
  if (b.view_count == Batches::kMostCalls) {
    if (!make_all_calls(run)) return Value();
    elements(view);
  } else {
    b.views[b.view_count++] = view;
  }
  return view;
}

// What a call writes at once; false if there is no memory for it.
inline bool make_outputs(Run& run, const Batched& k, Value* to) {
  for (uint32_t y = 0; y < k.output_count; ++y) {
    to[y] = make_tensor(run, k.outputs[y].element_bytes, k.outputs[y].rank, k.outputs[y].extents);
    if (!to[y]) return false;
  }
  return true;
}

// What it will write; false if there is no memory for it.
inline bool promise_outputs(Run& run, const Batched& k, uint32_t level, Value* to) {
  for (uint32_t y = 0; y < k.output_count; ++y) {
    const uint32_t rank = k.outputs[y].rank;
    Cell* c = take_cell(run, Kind::kTensor, static_cast<uint16_t>(level), 1, rank,
                        sizeof(Cell) + (1 + rank) * sizeof(int64_t));
    if (c == nullptr) return false;
    c->data = nullptr;
    c->held()[0] = nullptr;
    for (uint32_t i = 0; i < rank; ++i) c->extents()[i] = k.outputs[y].extents[i];
    to[y] = Value(c);
  }
  return true;
}

inline Value result_of(Run& run, const Batched& k, const Value* outputs) {
  if (k.output_count == 1) return outputs[0];
  Value result = make_room(run, 0, k.output_count);
  for (uint32_t y = 0; result && y < k.output_count; ++y) result->held()[y] = Value(outputs[y]).leave();
  return result;
}

// The result of a call that is made when it is needed, or at once if there is nothing to wait for.
template <class... V>
Value defer(Run& run, const Batched& k, const V&... inputs) {
  uint32_t level = 0;
  ((level = level_of(inputs) > level ? level_of(inputs) : level), ...);
  if (level == 0 && !k.shares_weights) {
    Value operands[kMostOperands] = {inputs...};
    Value* const outputs = operands + k.input_count;
    return make_outputs(run, k, outputs) && k.one(run, operands, outputs) ? result_of(run, k, outputs)
                                                                          : Value();
  }
  Batches*& b = run.heap->batches;
  if (b == nullptr) {
    void* memory = run.heap->keep(sizeof(Batches));
    if (memory == nullptr) return run.out_of_memory();
    b = new (memory) Batches;
  }
  if (!b->has_room(k)) {
    if (!make_all_calls(run)) return Value();
    level = 0;
  }
  ++level;
  const uint32_t first = b->operand_count;
  Value* const operands = b->operands + first;
  Value* const outputs = operands + k.input_count;
  Value* to = operands;
  ((*to++ = inputs), ...);
  b->operand_count += k.input_count + k.output_count;
  if (!promise_outputs(run, k, level, outputs)) return Value();
  for (uint32_t y = 0; y < k.output_count; ++y) b->bytes += k.outputs[y].bytes;
  b->calls[b->call_count++] = {&k, first, level};
  return result_of(run, k, outputs);
}
