// A run of functions over values, and values for its caller; part of the artifacts that have them (see interface.cc).
//
// What the caller has of a value is a cell that holds it, with the number of its type as the tag: types are checked where
// the caller makes a value, so that a call need not look into it.

namespace {

Heap* heap_of(const relay_context* c) { return reinterpret_cast<Heap*>(c->workspace); }

// A run that has not begun: what makes values needs one to say why there is none.
struct Start {
  Run run = {};
  const char* message = nullptr;

  Start(relay_context* c, const relay_parallel* parallel) {
    run.parallel = parallel;
    run.backwards = turned(parallel);
    run.weights = c->model->weights;
    run.stop = &c->stop;
    run.message = &message;
    run.heap = heap_of(c);
    run.stack_end = run.heap->stack_end();
  }
};

void release_held(relay_context* c) {
  for (size_t i = 0; i < kOutputCount; ++i) {
    const Value released(static_cast<Cell*>(c->held[i]));
    c->held[i] = nullptr;
  }
}

// Calls f(cell, dtype) for the tensors of a value that lie in tuples, in order.
template <class F>
void for_each_tensor(uint32_t type, const Value& v, const F& f) {
  const TypeEntry& t = kTypes[type];
  if (t.kind == RELAY_VALUE_TENSOR) f(v.get(), t);
  if (t.kind != RELAY_VALUE_TUPLE) return;
  for (uint32_t i = 0; i < t.count; ++i) for_each_tensor(t.fields[i], field(v, i), f);
}

DLTensor tensor_of(Cell* cell, const TypeEntry& type) {
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.data = cell->data;
  t.device.device_type = kDLCPU;
  t.ndim = static_cast<int32_t>(cell->rank);
  t.dtype.code = type.dtype_code;
  t.dtype.bits = type.dtype_bits;
  t.dtype.lanes = 1;
  t.shape = cell->extents();
  return t;
}

size_t cell_bytes(Cell* cell, unsigned dtype_bits) {
  size_t bytes = 0;
  (void)count_bytes(dtype_bits < 8 ? 1 : dtype_bits / 8, cell->rank, cell->extents(), &bytes);
  return bytes;
}

Value copy_of(Run& run, const void* memory, unsigned dtype_bits, uint32_t rank, const int64_t* extents) {
  Value v = make_tensor(run, dtype_bits < 8 ? 1 : dtype_bits / 8, rank, extents);
  if (v) {
    const size_t bytes = cell_bytes(v.get(), dtype_bits);
    if (bytes > 0) memcpy(v->data, memory, bytes);
  }
  return v;
}

// The caller's tensors from `next` on as a value of the type; it has their memory.
Value take_up(Run& run, uint32_t type, const DLTensor* const*& next) {
  const TypeEntry& t = kTypes[type];
  if (t.kind == RELAY_VALUE_TENSOR) {
    const DLTensor& given = **next++;
    const unsigned char* memory = static_cast<const unsigned char*>(given.data) + given.byte_offset;
    return make_view(run, memory, t.count, given.shape);
  }
  Value v = make_room(run, 0, t.count);
  for (uint32_t i = 0; v && i < t.count; ++i) {
    Value part = take_up(run, t.fields[i], next);
    if (!part) return part;
    v->held()[i] = part.leave();
  }
  return v;
}

// Does the cell, or the one whose elements it shows, have the elements itself?
bool owns_elements(Cell* cell) {
  while (cell->count > 0) cell = cell->held()[0];
  return cell->data == reinterpret_cast<unsigned char*>(cell) + tensor_head(cell->rank);
}

// Hands one tensor of the result over.
relay_status give(relay_context* c, Run& run, size_t i, Cell* cell, DLTensor* t) {
  const Port& port = kOutputs[i];
  if (t->data == nullptr) {
    ++cell->references;
    Value kept(cell);
    if (!owns_elements(cell)) kept = copy_of(run, cell->data, port.dtype_bits, cell->rank, cell->extents());
    if (!kept) return report(c, run.status, *run.message);
    Cell* held = kept.leave();
    c->held[i] = held;
    describe_held(c, i, held->data, held->extents(), t);
    return RELAY_OK;
  }
  if (memcmp(t->shape, cell->extents(), cell->rank * sizeof(int64_t)) != 0) {
    char is[128], has[128];
    show_shape(is, sizeof is, cell->extents(), port.rank);
    show_shape(has, sizeof has, t->shape, port.rank);
    say(c->error, kErrorSize, "output `%s` has shape %s after this run, the tensor for it has %s", port.name,
        is, has);
    return RELAY_USAGE;
  }
  const size_t bytes = cell_bytes(cell, port.dtype_bits);
  unsigned char* const to = static_cast<unsigned char*>(t->data) + t->byte_offset;
  if (bytes > 0 && to != cell->data) memcpy(to, cell->data, bytes);
  return RELAY_OK;
}

// Calls the program, which takes the arguments away.
relay_status run_main(relay_context* c, Start& start, Value* args, Value* result) {
  *result = c->model->variant->run_main(start.run, args);
  return report(c, start.run.status, start.message);
}

relay_status run_tensors(relay_context* c, const DLTensor* const* inputs, DLTensor* const* outputs,
                         const int64_t* variables) {
  c->stop.start_run();
  for (size_t i = 0; i < kOutputCount; ++i) {
    DLTensor* t = outputs[i];
    if (t != nullptr && t->data == nullptr) continue;
    const relay_status status = check_tensor(c, "output", kOutputs[i], t, variables);
    if (status != RELAY_OK) return status;
  }
  release_held(c);
  const Threads threads(c->model);
  Start start(c, threads.get());
  start.run.outputs = outputs;
  relay_status status = RELAY_OK;
  {
    Value args[kParameterCount + 1], result;
    for (size_t i = 0; i < kParameterCount; ++i) {
      args[i] = take_up(start.run, kParameters[i], inputs);
      if (!args[i]) return report(c, start.run.status, start.message);
    }
    status = run_main(c, start, args, &result);
    size_t i = 0;
    if (status == RELAY_OK) {
      for_each_tensor(kResult, result, [&](Cell* cell, const TypeEntry&) {
        if (status == RELAY_OK) status = give(c, start.run, i, cell, outputs[i]);
        ++i;
      });
    }
  }
  heap_of(c)->end_run();
  return status;
}

// What the caller has of a value.
relay_value* hand_out(Run& run, uint32_t type, Value v) {
  Value handle = make_node(run, static_cast<uint16_t>(type), static_cast<Value&&>(v));
  return reinterpret_cast<relay_value*>(handle.leave());
}
const Cell* handle(const relay_value* v) { return reinterpret_cast<const Cell*>(v); }
const Value& value_of(const relay_value* v) {
  return *reinterpret_cast<const Value*>(const_cast<Cell*>(handle(v))->held());
}
uint32_t type_of(const relay_value* v) { return handle(v)->tag; }

bool wants(relay_context* c, const char* what, size_t index, const relay_value* v, uint32_t type) {
  if (v != nullptr && type_of(v) == type) return true;
  say(c->error, kErrorSize, "%s %zu must be of type %u, %s; it is %s", what, index,
      static_cast<unsigned>(type), kTypes[type].text, v != nullptr ? kTypes[type_of(v)].text : "null");
  return false;
}

// The ways into this part of the interface begin alike.
relay_status begin(relay_context* c, const void* place) {
  if (c == nullptr) return RELAY_USAGE;
  c->error[0] = 0;
  if (place != nullptr) return RELAY_OK;
  say(c->error, kErrorSize, "there is no place for the result");
  return RELAY_USAGE;
}
relay_status begin_value(relay_context* c, uint32_t type, relay_value** value) {
  const relay_status status = begin(c, value);
  if (status != RELAY_OK) return status;
  *value = nullptr;
  if (type < kTypeCount) return RELAY_OK;
  say(c->error, kErrorSize, "there is no type %u: the model has %zu", static_cast<unsigned>(type),
      kTypeCount);
  return RELAY_USAGE;
}
relay_status hand_out(relay_context* c, Start& start, uint32_t type, Value v, relay_value** value) {
  if (v) *value = hand_out(start.run, type, static_cast<Value&&>(v));
  return *value != nullptr ? RELAY_OK : report(c, start.run.status, start.message);
}

}  // namespace

extern "C" {

RELAY_EXPORT relay_status relay_value_tensor(relay_context* c, uint32_t type, const DLTensor* tensor,
                                             relay_value** value) {
  relay_status status = begin_value(c, type, value);
  if (status != RELAY_OK) return status;
  const TypeEntry& t = kTypes[type];
  if (t.kind != RELAY_VALUE_TENSOR) {
    say(c->error, kErrorSize, "type %u is %s, which is no tensor", static_cast<unsigned>(type), t.text);
    return RELAY_USAGE;
  }
  const Port port = {
      t.text, static_cast<int32_t>(t.count), t.extents, t.dtype_code, t.dtype_bits, t.dtype_name, 0};
  status = check_tensor(c, "value of type", port, tensor, nullptr);
  if (status != RELAY_OK) return status;
  Start start(c, nullptr);
  const unsigned char* memory = static_cast<const unsigned char*>(tensor->data) + tensor->byte_offset;
  return hand_out(c, start, type, copy_of(start.run, memory, t.dtype_bits, t.count, tensor->shape), value);
}

RELAY_EXPORT relay_status relay_value_node(relay_context* c, uint32_t type, uint32_t constructor,
                                           relay_value* const* fields, size_t field_count,
                                           relay_value** value) {
  const relay_status status = begin_value(c, type, value);
  if (status != RELAY_OK) return status;
  const TypeEntry& t = kTypes[type];
  const uint32_t constructors = t.kind == RELAY_VALUE_DATA ? t.count : t.kind == RELAY_VALUE_TUPLE ? 1 : 0;
  if (constructor >= constructors) {
    say(c->error, kErrorSize, "type %u, %s, has %u constructors; number %u was asked for",
        static_cast<unsigned>(type), t.text, static_cast<unsigned>(constructors),
        static_cast<unsigned>(constructor));
    return RELAY_USAGE;
  }
  const uint32_t* types = t.kind == RELAY_VALUE_DATA ? t.constructors[constructor].fields : t.fields;
  const uint32_t count = t.kind == RELAY_VALUE_DATA ? t.constructors[constructor].count : t.count;
  if (field_count != count || (fields == nullptr && count > 0)) {
    say(c->error, kErrorSize, "a value of type %u, %s, has %u fields; %zu were given",
        static_cast<unsigned>(type), t.text, static_cast<unsigned>(count),
        fields == nullptr ? size_t{0} : field_count);
    return RELAY_USAGE;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (!wants(c, "field", i, fields[i], types[i])) return RELAY_USAGE;
  }
  Start start(c, nullptr);
  Value node = make_room(start.run, static_cast<uint16_t>(constructor), count);
  for (uint32_t i = 0; node && i < count; ++i) node->held()[i] = Value(value_of(fields[i])).leave();
  return hand_out(c, start, type, static_cast<Value&&>(node), value);
}

RELAY_EXPORT relay_status relay_value_look(relay_context* c, const relay_value* value,
                                           relay_value_view* view) {
  const relay_status status = begin(c, view);
  if (status != RELAY_OK) return status;
  if (value == nullptr || view->struct_size < sizeof(relay_value_view)) {
    say(c->error, kErrorSize, value == nullptr ? "the value is null" : "struct_size of the view is not set");
    return RELAY_USAGE;
  }
  const TypeEntry& t = kTypes[type_of(value)];
  const Value& v = value_of(value);
  const uint32_t size = view->struct_size;
  memset(view, 0, sizeof *view);
  view->struct_size = size;
  view->kind = t.kind;
  view->type = type_of(value);
  if (t.kind == RELAY_VALUE_TENSOR) {
    view->tensor = tensor_of(v.get(), t);
  } else {
    view->constructor = v->tag;
    view->field_count = v->count;
  }
  return RELAY_OK;
}

RELAY_EXPORT relay_status relay_value_field(relay_context* c, const relay_value* value, size_t index,
                                            relay_value** result) {
  const relay_status status = begin(c, result);
  if (status != RELAY_OK) return status;
  *result = nullptr;
  const TypeEntry* t = value != nullptr ? &kTypes[type_of(value)] : nullptr;
  const size_t count = t == nullptr || t->kind == RELAY_VALUE_TENSOR ? 0 : value_of(value)->count;
  if (index >= count) {
    say(c->error, kErrorSize, "the value has %zu fields; number %zu was asked for", count, index);
    return RELAY_USAGE;
  }
  const uint32_t* types =
      t->kind == RELAY_VALUE_DATA ? t->constructors[value_of(value)->tag].fields : t->fields;
  Start start(c, nullptr);
  return hand_out(c, start, types[index], field(value_of(value), static_cast<uint32_t>(index)), result);
}

RELAY_EXPORT void relay_value_free(relay_context*, relay_value* value) {
  const Value released(const_cast<Cell*>(handle(value)));
}

RELAY_EXPORT relay_status relay_call(relay_context* c, relay_value* const* args, size_t count,
                                     relay_value** result) {
  relay_status status = begin(c, result);
  if (status != RELAY_OK) return status;
  *result = nullptr;
  if (count != kParameterCount || (args == nullptr && count > 0)) {
    say(c->error, kErrorSize, "the model has %zu parameters; %zu arguments were given", kParameterCount,
        args == nullptr ? size_t{0} : count);
    return RELAY_USAGE;
  }
  DLTensor tensors[kInputCount + 1];
  const DLTensor* inputs[kInputCount + 1];
  size_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!wants(c, "argument", i, args[i], kParameters[i])) return RELAY_USAGE;
    for_each_tensor(kParameters[i], value_of(args[i]), [&](Cell* cell, const TypeEntry& t) {
      tensors[found] = tensor_of(cell, t);
      inputs[found] = &tensors[found];
      ++found;
    });
  }
  int64_t variables[kVariableCount + 1] = {};
  status = check_inputs(c, inputs, variables);
  if (status != RELAY_OK) return status;
  c->stop.start_run();
  const Threads threads(c->model);
  Start start(c, threads.get());
  {
    Value list[kParameterCount + 1], made;
    for (size_t i = 0; i < count; ++i) list[i] = value_of(args[i]);
    status = run_main(c, start, list, &made);
    if (status == RELAY_OK) status = hand_out(c, start, kResult, static_cast<Value&&>(made), result);
  }
  heap_of(c)->end_run();
  return status;
}

}  // extern "C"
