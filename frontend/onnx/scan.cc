// Scan: a loop over the elements of tensors along one axis each.
//
// Version 8 runs a scan for each row of a batch, with a length for each; from version 9 on
// there is no batch.
#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/loops.h"

namespace relay::frontend {
namespace {

using namespace op;

// What is scanned, of one row of the batch.
struct Scanned {
  std::vector<Expr> states, inputs;
  std::vector<int64_t> axes;          // of the inputs
  std::vector<bool> input_backwards;  // from the last element to the first
  std::vector<bool> output_backwards;
  Expr trips;
  Dim count;
};

class Scan {
 public:
  explicit Scan(Node& n) : n_(n), importer_(n.importer()), body_(n.graph("body")) {
    const int64_t inputs = n.integer("num_scan_inputs");
    n.require(inputs > 0 && inputs <= body_.input_size(), "its attribute `num_scan_inputs` is wrong");
    scanned_ = static_cast<size_t>(inputs);
    states_ = static_cast<size_t>(body_.input_size()) - scanned_;
    n.require(static_cast<size_t>(body_.output_size()) >= states_,
              "the outputs of its body are not those that a scan needs");
    rows_ = static_cast<size_t>(body_.output_size()) - states_;
    n.require(n.outputs() <= states_ + rows_, "it has more outputs than its body");
  }

  std::optional<std::vector<Expr>> convert();
  std::optional<std::vector<Expr>> convert_batch();

 private:
  std::optional<std::vector<Expr>> scan(const Scanned& s, const std::string& name);
  std::optional<std::vector<Expr>> row(const Scanned& all, Expr lengths, Dim count, Expr b);
  std::vector<bool> directions(std::string_view attribute, size_t count);
  std::vector<int64_t> axes(std::string_view attribute, size_t count);
  std::vector<Expr> inputs_of_one_extent(size_t first, const std::vector<size_t>& axes);

  Node& n_;
  Importer& importer_;
  const ::onnx::GraphProto& body_;
  size_t states_ = 0, scanned_ = 0, rows_ = 0;
};

std::vector<bool> Scan::directions(std::string_view attribute, size_t count) {
  const std::vector<int64_t> given = n_.integers(attribute);
  n_.require(given.empty() || given.size() == count,
             cat("its attribute `", attribute, "` has a wrong length"));
  std::vector<bool> out(count, false);
  for (size_t i = 0; i < given.size(); ++i) {
    n_.require(given[i] == 0 || given[i] == 1, cat("its attribute `", attribute, "` must be 0 or 1"));
    out[i] = given[i] == 1;
  }
  return out;
}

std::vector<int64_t> Scan::axes(std::string_view attribute, size_t count) {
  std::vector<int64_t> given = n_.integers(attribute);
  if (given.empty()) given.assign(count, 0);
  n_.require(given.size() == count, cat("its attribute `", attribute, "` has a wrong length"));
  return given;
}

// The scanned inputs, which have one extent along their axes; a run compares what is not known.
std::vector<Expr> Scan::inputs_of_one_extent(size_t first, const std::vector<size_t>& axes) {
  std::vector<Expr> out;
  Dim extent;
  for (size_t i = 0; i < axes.size(); ++i) {
    const std::string name = cat("scanned", i);
    const Expr x = n_.input(first + i);
    std::vector<Dim> wanted(type_of(x).rank(), Dim::unknown());
    if (i > 0) {
      const Dim own = dims_of(x)[axes[i]];
      n_.require(!own.is_const() || !extent.is_const() || own == extent,
                 cat("it scans ", show(extent), " and ", show(own), " elements"));
      wanted[axes[i]] = extent;
    }
    out.push_back(importer_.match_extents(x, wanted, name));
    if (i == 0) extent = dims_of(out[0])[axes[0]];
  }
  return out;
}

// The last states, then the collected rows with the steps along the first axis.
std::optional<std::vector<Expr>> Scan::scan(const Scanned& s, const std::string& name) {
  LoopForm form;
  form.name = name;
  form.trips = form.hold(n_, s.trips);
  form.count = s.count;
  form.states = s.states;
  form.backwards = s.output_backwards;
  std::vector<Expr> inputs;
  for (Expr e : s.inputs) inputs.push_back(form.hold(n_, e));
  NameScope around = held_scope(n_, body_, form);
  form.body = [&](Expr i, const std::vector<Expr>& now) -> std::optional<LoopStep> {
    NameScope scope{{}, &around};
    const auto define = [&](size_t at, Expr e) {
      Operand value;
      value.expr = e;
      scope.names.emplace(body_.input(static_cast<int>(at)).name(), std::move(value));
    };
    for (size_t k = 0; k < states_; ++k) define(k, now[k]);
    Expr back = nullptr;
    for (size_t k = 0; k < scanned_; ++k) {
      if (s.input_backwards[k] && !back) {
        const Expr one = n_.builder().constant(Tensor::scalar_int(kInt64, 1));
        back = n_.call(kSubtract, {n_.call(kSubtract, {form.trips, one}), i});
      }
      define(states_ + k, element(n_, inputs[k], s.input_backwards[k] ? back : i, s.axes[k]));
    }
    std::optional<std::vector<Operand>> results = importer_.import_subgraph(body_, scope);
    if (!results) return std::nullopt;
    LoopStep step;
    for (size_t k = 0; k < results->size(); ++k)
      (k < states_ ? step.states : step.rows).push_back(importer_.materialise((*results)[k]));
    return step;
  };
  return make_loop(n_, form);
}

std::optional<std::vector<Expr>> Scan::convert() {
  n_.require(n_.inputs() == states_ + scanned_, "the inputs of its body are not those that a scan gives it");
  Scanned s;
  for (size_t i = 0; i < states_; ++i) s.states.push_back(importer_.materialise(n_.operand(i)));
  std::vector<size_t> along;
  const std::vector<int64_t> given = axes("scan_input_axes", scanned_);
  for (size_t i = 0; i < scanned_; ++i) along.push_back(n_.axis(given[i], n_.rank(states_ + i)));
  s.inputs = inputs_of_one_extent(states_, along);
  s.axes = {along.begin(), along.end()};
  s.input_backwards = directions("scan_input_directions", scanned_);
  s.output_backwards = directions("scan_output_directions", rows_);
  s.trips = extent(n_, s.inputs[0], s.axes[0]);
  s.count = dims_of(s.inputs[0])[along[0]];
  const std::vector<int64_t> output_axes = axes("scan_output_axes", rows_);
  std::optional<std::vector<Expr>> out = scan(s, n_.proto().name());
  for (size_t i = 0; out && i < rows_; ++i) {
    Expr& rows = (*out)[states_ + i];
    const size_t rank = type_of(rows).rank(), axis = n_.axis(output_axes[i], rank);
    if (axis == 0) continue;
    std::vector<int64_t> order;
    for (size_t k = 1; k < rank; ++k) order.push_back(static_cast<int64_t>(k));
    order.insert(order.begin() + static_cast<ptrdiff_t>(axis), 0);
    rows = n_.transpose(rows, order);
  }
  return out;
}

// Row b of a batch. Rows of the results that are beyond its length are 0.
std::optional<std::vector<Expr>> Scan::row(const Scanned& all, Expr lengths, Dim count, Expr b) {
  Scanned s = all;
  for (Expr& e : s.states) e = element(n_, e, b, 0);
  for (Expr& e : s.inputs) e = element(n_, e, b, 0);
  if (lengths) {
    s.trips = n_.cast(element(n_, lengths, b, 0), kInt64);
    s.count = Dim::unknown();
  }
  std::optional<std::vector<Expr>> out = scan(s, cat(n_.proto().name(), "_row"));
  for (size_t i = 0; out && lengths && i < rows_; ++i) {
    Expr& rows = (*out)[states_ + i];
    std::vector<Dim> rest = dims_of(rows);
    rest[0] = count - rest[0];
    const Expr none =
        n_.call(kZeros, std::span<const Expr>(), {{"shape", rest}, {"dtype", type_of(rows).dtype}});
    rows = n_.concatenate({rows, none}, 0);
  }
  return out;
}

std::optional<std::vector<Expr>> Scan::convert_batch() {
  n_.require(n_.inputs() == states_ + scanned_ + 1,
             "the inputs of its body are not those that a scan gives it");
  Scanned all;
  for (size_t i = 0; i < states_; ++i) all.states.push_back(n_.input(i + 1));
  for (size_t i = 0; i < states_ + scanned_; ++i)
    n_.require(n_.rank(i + 1) >= (i < states_ ? 1u : 2u), "its inputs must have a batch");
  all.inputs = inputs_of_one_extent(states_ + 1, std::vector<size_t>(scanned_, 1));
  all.axes.assign(scanned_, 0);  // of a row
  all.input_backwards = directions("directions", scanned_);
  all.output_backwards.assign(rows_, false);
  all.trips = extent(n_, all.inputs[0], 1);
  const Dim batch = dims_of(all.inputs[0])[0], count = dims_of(all.inputs[0])[1];
  all.count = count;
  const auto of_batch = [&](Expr e, std::string_view name) {
    std::vector<Dim> wanted(type_of(e).rank(), Dim::unknown());
    wanted[0] = batch;
    const Dim own = dims_of(e)[0];
    n_.require(!own.is_const() || !batch.is_const() || own == batch, "its inputs have different batches");
    return importer_.match_extents(e, wanted, name);
  };
  for (Expr& e : all.states) e = of_batch(e, "state");
  for (Expr& e : all.inputs) e = of_batch(e, "scanned");
  Expr lengths = nullptr;
  if (n_.has(0)) {
    n_.require(n_.rank(0) == 1 && n_.dtype(0).is_int(), "its lengths must be a list of integers");
    lengths = of_batch(n_.input(0), "lengths");
  }
  LoopForm form;
  form.name = n_.proto().name();
  form.trips = extent(n_, all.inputs[0], 0);
  form.count = batch;
  if (lengths) lengths = form.hold(n_, lengths);
  for (std::vector<Expr>* part : {&all.states, &all.inputs}) {
    for (Expr& e : *part) e = form.hold(n_, e);
  }
  form.body = [&](Expr b, const std::vector<Expr>&) -> std::optional<LoopStep> {
    std::optional<std::vector<Expr>> rows = row(all, lengths, count, b);
    if (!rows) return std::nullopt;
    LoopStep step;
    step.rows = std::move(*rows);
    return step;
  };
  return make_loop(n_, form);
}

}  // namespace

std::optional<std::vector<Operand>> convert_scan(Node& n) {
  Scan scan(n);
  const std::optional<std::vector<Expr>> parts = n.opset() < 9 ? scan.convert_batch() : scan.convert();
  if (!parts) return std::nullopt;
  std::vector<Operand> out(parts->size());
  for (size_t i = 0; i < out.size(); ++i) out[i].expr = (*parts)[i];
  return out;
}

}  // namespace relay::frontend
