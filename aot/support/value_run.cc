// A run of functions over values, and values for its caller; part of the artifacts that have them
// (see interface.cc). How the machine takes and gives tensors is in cpu_value_run.cc and
// cuda_value_run.cc.
//
// What the caller has of a value is a cell that holds it, with the number of its type as the tag:
// types are checked where the caller makes a value, so that a call need not look into it.

namespace {

Heap* heap_of(const relay_context* c) { return heap_in(c->workspace); }

// What makes values needs a run, to say why there is none.
struct Start {
  Device device = {};
  Run run = {};
  const char* message = nullptr;

  explicit Start(relay_context* c) {
    run.device = &device;
    run.weights = c->model->weights;
    run.stop = &c->stop;
    run.message = &message;
    run.heap = heap_of(c);
    run.stack_end = run.heap->stack_end();
  }
};

void release_held(relay_context* c) {
  for (size_t i = 0; i < kOutputCount; ++i) {
    const Value held(static_cast<Cell*>(c->held[i])), spare(static_cast<Cell*>(c->spare[i]));
    c->held[i] = c->spare[i] = nullptr;
  }
}

// Releases the results of the run before. Those that inputs of this run lie in become `spare`: the
// caller may hand over what it was given, and again if this run fails.
void release_unread(relay_context* c, const DLTensor* const* inputs) {
  for (size_t i = 0; i < kOutputCount; ++i) {
    Cell* held = static_cast<Cell*>(c->held[i]);
    if (held == nullptr) continue;
    const size_t bytes = bytes_of(held, element_bytes(kOutputs[i]));
    if (is_read(inputs, held->data, bytes, held->extents())) exchange(c->held[i], c->spare[i]);
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

DLTensor tensor_of(Cell* cell, const TypeEntry& type, DLDevice device) {
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.data = cell->data;
  t.device = device;
  t.ndim = static_cast<int32_t>(cell->rank);
  t.dtype.code = type.dtype_code;
  t.dtype.bits = type.dtype_bits;
  t.dtype.lanes = 1;
  t.shape = cell->extents();
  return t;
}

// The caller's tensors from `next` on as a value of the type.
Value take_up(Run& run, uint32_t type, const DLTensor* const*& next) {
  const TypeEntry& t = kTypes[type];
  if (t.kind == RELAY_VALUE_TENSOR) return take_tensor(run, **next++, t);
  Value v = make_room(run, 0, t.count);
  for (uint32_t i = 0; v && i < t.count; ++i) {
    Value part = take_up(run, t.fields[i], next);
    if (!part) return part;
    v->held()[i] = part.leave();
  }
  return v;
}

// Hands one tensor of the result over. What the run fails with is in the run.
relay_status give(relay_context* c, Run& run, size_t i, Cell* cell, DLTensor* t) {
  const Port& port = kOutputs[i];
  if (t->data == nullptr) {
    Value kept = keep_for_caller(run, cell, port.dtype_bits);
    if (!kept) return RELAY_OK;
    Cell* held = kept.leave();
    c->held[i] = held;
    describe_held(i, held->data, held->extents(), t);
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
  copy_out(run, cell, bytes_of(cell, element_bytes(port)), *t);
  return RELAY_OK;
}

relay_status run_tensors(relay_context* c, const DLTensor* const* inputs, DLTensor* const* outputs,
                         const int64_t* variables) {
  c->stop.start_run();
  for (size_t i = 0; i < kOutputCount; ++i) {
    DLTensor* t = outputs[i];
    if (const Cell* held = static_cast<Cell*>(c->held[i])) forget_held(held->data, i, inputs, t);
    if (t != nullptr && t->data == nullptr) continue;
    const relay_status status = check_tensor(c, "output", kOutputs[i], t, variables);
    if (status != RELAY_OK) return status;
  }
  if (const relay_status status = check_apart(c, inputs, outputs); status != RELAY_OK) return status;
  release_unread(c, inputs);
  Start start(c);
  start.run.outputs = outputs;
  Stay stay(c, start.run, true);
  relay_status status = stay.begun();
  if (status != RELAY_OK) return status;
  {
    Value args[kParameterCount + 1], result;
    bool good = true;
    for (size_t i = 0; good && i < kParameterCount; ++i) {
      args[i] = take_up(start.run, kParameters[i], inputs);
      good = static_cast<bool>(args[i]);
    }
    if (good) result = run_program(c, start.run, args);
    size_t i = 0;
    if (result) {
      for_each_tensor(kResult, result, [&](Cell* cell, const TypeEntry&) {
        if (status == RELAY_OK) status = give(c, start.run, i, cell, outputs[i]);
        ++i;
      });
    }
    // Before the values go: what the machine still does for them is done then.
    const relay_status ended = stay.end();
    if (ended != RELAY_OK) status = ended;
  }
  heap_of(c)->end_run();
  return status;
}

// What the caller has of a value.
relay_value* hand_out(Run& run, uint32_t type, Value v) {
  Value handle = make_handle(run, static_cast<uint16_t>(type), static_cast<Value&&>(v));
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
  Start start(c);
  Stay stay(c, start.run, false);
  status = stay.begun();
  if (status != RELAY_OK) return status;
  Value copy = copy_tensor(start.run, *tensor, t);
  status = stay.end();
  return status == RELAY_OK ? hand_out(c, start, type, static_cast<Value&&>(copy), value) : status;
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
  Start start(c);
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
  if (t.kind != RELAY_VALUE_TENSOR) {
    view->constructor = v->tag;
    view->field_count = v->count;
    return RELAY_OK;
  }
  // The caller reads the elements where the host can.
  Start start(c);
  Stay stay(c, start.run, false);
  const relay_status begun_at = stay.begun();
  if (begun_at != RELAY_OK) return begun_at;
  Cell* readable = readable_tensor(start.run, const_cast<Cell*>(handle(value)), t);
  const relay_status ended = stay.end();
  if (ended == RELAY_OK) view->tensor = tensor_of(readable, t, {kDLCPU, 0});
  return ended;
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
  Start start(c);
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
      tensors[found] = tensor_of(cell, t, device_of(c));
      inputs[found] = &tensors[found];
      ++found;
    });
  }
  int64_t variables[kVariableCount + 1] = {};
  status = check_inputs(c, inputs, variables);
  if (status != RELAY_OK) return status;
  c->stop.start_run();
  Start start(c);
  Stay stay(c, start.run, true);
  status = stay.begun();
  if (status != RELAY_OK) return status;
  {
    Value list[kParameterCount + 1];
    for (size_t i = 0; i < count; ++i) list[i] = value_of(args[i]);
    Value made = run_program(c, start.run, list);
    status = stay.end();
    if (status == RELAY_OK) status = hand_out(c, start, kResult, static_cast<Value&&>(made), result);
  }
  heap_of(c)->end_run();
  return status;
}

}  // extern "C"
