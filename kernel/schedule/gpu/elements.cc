// One thread an element: elementwise stages, and reductions without a better form.
#include <algorithm>

#include "kernel/schedule/gpu/rules.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::gpu {
namespace {

constexpr int64_t kVectorBytes = 16;  // that a thread loads at once

// Are elements in local memory what they are in global memory? Small floats are held as float.
bool is_kept_as_stored(DType d) { return d.bits >= 8 && !(d.is_float() && d.bits < 32); }

// Tensors of one long row, 16 bytes a thread: each operand by one load, the result by one store.
Stmt write_vectors(Writer& w, const target::Gpu& gpu, const Stage& stage) {
  const std::vector<Expr> extents = extents_of(stage.spatial);
  const std::optional<int64_t> total = constant_product(extents);
  const DType dtype = stage.buffer->dtype;
  if (!total || !stage.requirements.empty() || !is_kept_as_stored(dtype)) return nullptr;
  const int64_t lanes = kVectorBytes / static_cast<int64_t>(dtype.bytes());
  // Fewer elements than the machine has threads are sooner done one by one.
  constexpr int64_t kWorthVectors = 1 << 16;
  if (lanes < 2 || *total % lanes != 0 || *total < kWorthVectors || !same_place_everywhere(stage))
    return nullptr;
  std::vector<const Buffer*> operands;  // that are read element by element
  bool alike = true;
  for_each_load(stage.value, [&](const ExprNode* n) {
    if (variables(n).empty()) return;
    alike &= n->dtype.bytes() == dtype.bytes() && is_kept_as_stored(n->dtype);
    if (std::find(operands.begin(), operands.end(), n->buffer) == operands.end())
      operands.push_back(n->buffer);
  });
  if (!alike || operands.empty()) return nullptr;

  return on_threads(w, gpu, w.index(*total / lanes), [&](Expr vector) {
    const AnchoredStage anchored{stage};
    const Axis lane = w.axis("lane", w.index(lanes));
    const auto each_lane = [&](ForKind how, const std::string& name, const Buffer* to, bool local,
                               Expr value) {
      return w.loop(how, "lane", lanes, [&](Expr l) {
        std::vector<Binding> at = anchored.bind(unflatten(vector * lanes + l, extents));
        at.push_back({lane, IterKind::kSpatial, l});
        const std::vector<Expr> place = local ? std::vector<Expr>{lane.var} : anchored.variables();
        return w.block(name, at, w.store(to, place, value));
      });
    };
    std::vector<Stmt> body;
    std::vector<const Buffer*> locals;
    Expr value = stage.value;
    for (const Buffer* b : operands) {
      const Buffer* local = w.local(b->name.str() + "_vector", b->dtype, {lane.extent});
      locals.push_back(local);
      body.push_back(each_lane(ForKind::kVectorized, local->name.str(), local, true,
                               w.pool().load(b, anchored.variables())));
      value = replace_loads(value, b, w.pool().load(local, {lane.var}));
    }
    const Buffer* result = w.local(stage.name + "_vector", dtype, {lane.extent});
    locals.push_back(result);
    body.push_back(each_lane(ForKind::kUnrolled, stage.name, result, true, value));
    body.push_back(each_lane(ForKind::kVectorized, stage.name + "_store", stage.buffer, false,
                             w.pool().load(result, {lane.var})));
    Stmt all = w.sequence(body);
    for (const Buffer* b : locals) all = w.allocate(b, all);
    return all;
  });
}

}  // namespace

Stmt write_elements(Writer& w, const target::Gpu& gpu, const Stage& stage) {
  if (Stmt vectors = write_vectors(w, gpu, stage)) return vectors;
  const std::vector<Expr> extents = extents_of(stage.spatial);
  return on_threads(w, gpu, product(w.pool(), extents), [&](Expr i) {
    const AnchoredStage anchored{stage};
    std::vector<Stmt> body = stage.requirements;
    body.push_back(w.store(stage.buffer, anchored.variables(), stage.value));
    return w.block(stage.name, anchored.bind(unflatten(i, extents)), w.sequence(body));
  });
}

Stmt write_reductions(Writer& w, const target::Gpu& gpu, const AnchoredStage& anchored) {
  const std::vector<Expr> extents = extents_of(anchored.stage.spatial);
  return on_threads(w, gpu, product(w.pool(), extents), [&](Expr i) {
    return reduce_element(w, anchored, sum_order(anchored.stage, 1), unflatten(i, extents));
  });
}

}  // namespace relay::kernel::schedule::gpu
