#include "kernel/print/statements.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "kernel/codegen/requirements.h"
#include "kernel/print/expressions.h"
#include "kernel/print/grid.h"
#include "kernel/statements.h"

namespace relay::kernel::print {
namespace {

bool is_grid(ForKind how) { return how >= ForKind::kBlockX; }
size_t grid_index(ForKind how) { return static_cast<size_t>(how) - static_cast<size_t>(ForKind::kBlockX); }

// Buffers that threads can share, read and written by a statement.
struct Touched {
  std::set<uint32_t> reads, writes;

  static Touched by(Stmt s) {
    Touched out;
    visit(s, [&](Stmt n) {
      for (Expr e : expressions(n)) {
        for_each_load(e, [&](const ExprNode* l) {
          if (l->buffer->scope != Scope::kLocal) out.reads.insert(l->buffer->id);
        });
      }
      if (const auto* st = n->as<Store>(); st && st->buffer->scope != Scope::kLocal)
        out.writes.insert(st->buffer->id);
    });
    return out;
  }
  void add(const Touched& more) {
    reads.insert(more.reads.begin(), more.reads.end());
    writes.insert(more.writes.begin(), more.writes.end());
  }
  // True if a thread in `next` could meet what another thread does in this.
  bool before(const Touched& next) const {
    const auto meet = [](const std::set<uint32_t>& a, const std::set<uint32_t>& b) {
      return std::any_of(a.begin(), a.end(), [&](uint32_t id) { return b.contains(id); });
    };
    return meet(writes, next.reads) || meet(writes, next.writes) || meet(reads, next.writes);
  }
};

bool has_threads(Stmt s) {
  bool found = false;
  visit(s, [&](Stmt n) {
    if (const auto* f = n->as<For>()) found |= f->how >= ForKind::kThreadX;
  });
  return found;
}

}  // namespace

void Statements::print(Stmt body) {
  launch_extents.assign(kGridIndices, {});
  if (context_.dialect.has_grid()) {
    visit(body, [&](Stmt s) {
      const auto* f = s->as<For>();
      if (f == nullptr || !is_grid(f->how)) return;
      Expr& extent = launch_extents[grid_index(f->how)];
      extent = extent ? max(extent, f->extent) : f->extent;
    });
    body = give_to_threads(code_.pool(), body);
  }
  quotients_ = codegen::name_quotients(code_.pool(), body);
  plan_ = codegen::VectorPlan(quotients_.body, context_.dialect.vectors ? options_.vector_bytes : 0);
  statement(quotients_.body);
}

void Statements::statement(Stmt s) {
  switch (s->kind) {
    case StmtKind::kFor: return loop(*s->as<For>());
    case StmtKind::kStore: return store(*s->as<Store>());
    case StmtKind::kSeq: return sequence(*s->as<Seq>());
    case StmtKind::kIf: return condition(*s->as<If>());
    case StmtKind::kAllocate: return allocate(*s->as<Allocate>());
    case StmtKind::kRequire: return require(*s->as<Require>());
    case StmtKind::kPrefetch: return prefetch(*s->as<Prefetch>());
    case StmtKind::kNop: return;
    case StmtKind::kBlock: return instruction(*s->as<Block>());
  }
}

// --- Loops ---

std::string Statements::bind(Expr var) {
  return context_.variables[var.get()] = context_.names.unique(var->name.text());
}

void Statements::loop(const For& n) {
  const Bounds outer = context_.bounds;
  context_.bounds.bind(n.var, n.extent);
  if (is_grid(n.how) && context_.dialect.has_grid()) {
    grid_loop(n);
  } else if (n.how == ForKind::kParallel && context_.dialect.parallel && !in_parallel_) {
    parallel_loop(n);
  } else if (n.how == ForKind::kVectorized && plan_.contains(&n)) {
    codegen::for_each_piece(plan_, n, code_.pool(), context_.lanes, [&](Stmt s) { statement(s); });
  } else if (n.how == ForKind::kVectorized && !context_.dialect.copy.empty() && copy_loop(n)) {
  } else {
    const bool independent = n.how == ForKind::kVectorized;
    serial_loop(n, n.how == ForKind::kUnrolled ? context_.dialect.unroll
                   : independent               ? context_.dialect.independent
                   : plan_.reaches(n.body)     ? context_.dialect.rolled
                                               : "");
  }
  context_.bounds = outer;
}

// Begins with the divisions that belong to the loop.
void Statements::body_of(const For& n) {
  const size_t outer = loops_.size();
  loops_.push_back(n.var);
  if (const auto it = quotients_.of_loop.find(n.var.get()); it != quotients_.of_loop.end()) {
    for (const codegen::Quotient& q : it->second) {
      const std::string value = Expressions(context_, {q.value}).scalar(q.value);
      context_.out.line("const int64_t ", bind(q.var), " = ", value, ";");
      loops_.push_back(q.var);
    }
  }
  statement(n.body);
  loops_.resize(outer);
}

void Statements::serial_loop(const For& n, std::string_view hint) {
  const std::string extent = Expressions(context_, {n.extent}).bound(n.extent);
  const std::string var = bind(n.var);
  if (!hint.empty()) context_.out.line(hint);
  context_.out.open("for (int64_t ", var, " = 0; ", var, " < ", extent, "; ++", var, ") {");
  body_of(n);
  if (crosses_threads() && has_threads(n.body)) {
    // The next iteration may not overwrite what a slower thread still reads.
    const Touched t = Touched::by(n.body);
    if (t.before(t)) context_.out.line(context_.dialect.barrier);
  }
  context_.out.close();
}

// The loop's body becomes a function of its own, which each thread calls for a range of iterations.
void Statements::parallel_loop(const For& n) {
  const std::string extent = Expressions(context_, {n.extent}).scalar(n.extent);
  const std::string suffix = cat("_", parallel_loops_++);
  std::vector<Parameter> shared = parameters_;
  for (const Local& l : locals_)
    shared.push_back({cat(l.type, "* ", context_.dialect.restricted), cat(l.type, "*"), l.name});
  for (Expr v : loops_) shared.push_back({"int64_t ", "int64_t", context_.variables.at(v.get())});

  const std::string var = bind(n.var);
  Writer outer = std::exchange(context_.out, Writer(1));
  context_.out.open("for (int64_t ", var, " = begin; ", var, " < end; ++", var, ") {");
  in_parallel_ = true;
  body_of(n);
  in_parallel_ = false;
  context_.out.close();
  const Writer body = std::exchange(context_.out, outer);

  std::erase_if(shared, [&](const Parameter& p) { return !has_word(body.text(), p.name); });
  const std::string closure = cat(function_, suffix, "_closure"), part = cat(function_, suffix, "_part"),
                    range = cat(function_, suffix, "_range");
  std::string parameters, arguments, fields;
  for (const Parameter& p : shared) {
    parameters += cat(p.declared, p.name, ", ");
    arguments += cat("shared->", p.name, ", ");
    fields += cat(fields.empty() ? "" : ", ", p.name);
  }
  before.open("struct ", closure, " {");
  for (const Parameter& p : shared) before.line(p.type, " ", p.name, ";");
  before.close("};");
  before.open(context_.dialect.noinline, "static int32_t ", part, "(", parameters,
              "int64_t begin, int64_t end) {");
  before.raw(body.text());
  before.line("return 0;");
  before.close();
  before.open("static int32_t ", range, "(void* closure, int64_t begin, int64_t end) {");
  before.line(shared.empty() ? "(void)closure;"
                             : cat("const ", closure, "* shared = (const ", closure, "*)closure;"));
  before.line("return ", part, "(", arguments, "begin, end);");
  before.close();

  context_.out.open("{");
  context_.out.line(closure, " closure = {", fields, "};");
  context_.out.line("const int32_t failure = parallel->run(parallel->self, ", extent, ", ", range,
                    ", &closure);");
  context_.out.line("if (failure != 0) return failure;");
  context_.out.close();
}

// --- Grids ---

void Statements::grid_loop(const For& n) {
  const size_t index = grid_index(n.how);
  const std::string var = bind(n.var);
  const bool all = n.extent == launch_extents[index];
  context_.out.open("{");
  Writer outside = std::exchange(context_.out, Writer(context_.out.depth()));
  if (!all) context_.out.open("if (", var, " < ", Expressions(context_, {n.extent}).bound(n.extent), ") {");
  const bool outer = bound_[index];
  bound_[index] = true;
  body_of(n);
  bound_[index] = outer;
  if (!all) context_.out.close();
  const Writer body = std::exchange(context_.out, outside);
  if (has_word(body.text(), var))
    context_.out.line("const int64_t ", var, " = ", context_.dialect.grid_index[index], ";");
  context_.out.raw(body.text());
  context_.out.close();
}

bool Statements::crosses_threads() const {
  if (context_.dialect.barrier.empty()) return false;
  return std::none_of(bound_.begin() + 3, bound_.end(), [](bool b) { return b; });
}

std::string Statements::only_first_thread() const {
  std::string out;
  if (!context_.dialect.has_grid()) return out;
  for (size_t i = 0; i < kGridIndices; ++i) {
    if (!launch_extents[i] || bound_[i] || launch_extents[i].is_int(1)) continue;
    out += cat(out.empty() ? "" : " && ", context_.dialect.grid_index[i], " == 0");
  }
  return out;
}

void Statements::sequence(const Seq& n) {
  const bool barriers = crosses_threads() && has_threads(&n);
  Touched since;
  for (size_t i = 0; i < n.body.size(); ++i) {
    const std::optional<WarpJoin> join =
        barriers ? find_warp_join(code_.pool(), n.body, i, context_.bounds) : std::nullopt;
    if (barriers) {
      const Touched t = Touched::by(n.body[i]);
      if (since.before(t)) {
        context_.out.line(context_.dialect.barrier);
        since = {};
      }
      since.add(t);
    }
    if (join && whole_warps()) {
      warp_join(*join);
      i += kWarpSteps - 1;
    } else {
      statement(n.body[i]);
    }
  }
}

// Are the threads of a warp neighbours along x?
bool Statements::whole_warps() const {
  const Expr x = launch_extents[3];
  return x && x->kind == ExprKind::kInt && x->int_value % target::kWarpThreads == 0;
}

void Statements::warp_join(const WarpJoin& join) {
  const Bounds outer = context_.bounds;
  context_.out.open("{");
  const auto index = [&](Expr var, ForKind how) {
    const std::string name = bind(var);
    context_.out.line("const int64_t ", name, " = ", context_.dialect.grid_index[grid_index(how)], ";");
    return name;
  };
  if (join.rows) {
    context_.bounds.bind(join.row, join.rows->extent);
    const std::string row = index(join.row, join.rows->how);
    if (join.rows->extent != launch_extents[grid_index(join.rows->how)])
      context_.out.open("if (", row, " < ",
                        Expressions(context_, {join.rows->extent}).bound(join.rows->extent), ") {");
  }
  const std::string lane = index(join.lane, ForKind::kThreadX);
  context_.bounds.bind(join.lane, code_.pool().integer(target::kWarpThreads));
  const bool all = launch_extents[3].is_int(target::kWarpThreads);
  if (!all) context_.out.open("if (", lane, " < ", target::kWarpThreads, ") {");
  const List<Expr> at = code_.pool().arena().list(join.at);
  const Expr offset = codegen::offset_of(*join.buffer, at, context_.bounds, code_.pool());
  const std::string type(value_type(join.buffer->dtype)), mine = bind(join.mine), other = bind(join.other);
  const Expr element = code_.pool().load(join.buffer, join.at);
  context_.out.line(type, " ", mine, " = ", Expressions(context_, {element}).scalar(element), ";");
  context_.out.open("for (int half = ", target::kWarpThreads / 2, "; half > 0; half /= 2) {");
  context_.out.line("const ", type, " ", other, " = ", context_.dialect.shuffle, "(", mine, ", half);");
  Expressions e(context_, {join.joined});
  const std::string joined = e.scalar(join.joined);
  context_.out.line("if (", lane, " < half) ", mine, " = ", joined, ";");
  context_.out.close();
  Expressions(context_, {offset, join.mine}).store(*join.buffer, offset, join.mine);
  if (!all) context_.out.close();
  if (join.rows && join.rows->extent != launch_extents[grid_index(join.rows->how)]) context_.out.close();
  context_.out.close();
  context_.bounds = outer;
}

// A loop that copies as many bytes as a thread moves at once, from where they are aligned
// to where they are.
bool Statements::copy_loop(const For& n) {
  const auto* store = n.body->as<Store>();
  if (store == nullptr || store->value->kind != ExprKind::kLoad) return false;
  const Buffer &to = *store->buffer, &from = *store->value->buffer;
  const auto bytes = static_cast<int64_t>(to.dtype.bytes());
  if (from.dtype != to.dtype || to.dtype.bits < 8 || n.extent->kind != ExprKind::kInt ||
      n.extent->int_value * bytes != kCopyBytes)
    return false;
  const Expr first = codegen::offset_of(to, store->indices, context_.bounds, code_.pool()),
             second = codegen::offset_of(from, store->value->args, context_.bounds, code_.pool());
  const auto aligned = [&](Expr offset) {
    const Expr start = substitute(offset, {{n.var.get(), code_.pool().integer(0)}});
    return codegen::is_contiguous(offset, n.var) &&
           simplify(floor_mod(start, n.extent->int_value), context_.bounds).is_int(0);
  };
  const auto in_memory = [&](const Buffer& b) {
    const Place& place = context_.places.at(&b);
    return !place.variables && (place.as_stored || memory_type(b.dtype) == value_type(b.dtype));
  };
  if (!aligned(first) || !aligned(second) || !in_memory(to) || !in_memory(from)) return false;
  const auto address = [&](const Buffer& b, Expr offset) {
    const Expr start = substitute(offset, {{n.var.get(), code_.pool().integer(0)}});
    const std::string text = Expressions(context_, {start}).scalar(start);
    return cat(context_.places.at(&b).name, start.is_int(0) ? "" : cat(" + ", text));
  };
  const std::string into = address(to, first), out_of = address(from, second);
  context_.out.line(context_.dialect.copy, "(", into, ", ", out_of, ");");
  return true;
}

// --- Other statements ---

void Statements::store(const Store& n) {
  const Expr offset = codegen::offset_of(*n.buffer, n.indices, context_.bounds, code_.pool());
  const std::string guard = n.buffer->scope == Scope::kLocal ? "" : only_first_thread();
  if (!guard.empty()) context_.out.open("if (", guard, ") {");
  Expressions(context_, {offset, n.value}).store(*n.buffer, offset, n.value);
  if (!guard.empty()) context_.out.close();
}

// Compilers say by a macro of the prelude whether the machine has the instruction.
void Statements::instruction(const Block& n) {
  const std::string name = n.instruction.str();
  const auto in_memory = [&](const Region& r) {
    const Place& place = context_.places.at(r.buffer);
    return place.as_stored || memory_type(r.buffer->dtype) == value_type(r.buffer->dtype);
  };
  const bool usable = context_.dialect.instructions &&
                      std::all_of(n.reads.begin(), n.reads.end(), in_memory) &&
                      std::all_of(n.writes.begin(), n.writes.end(), in_memory);
  if (!usable) return statement(n.body);
  std::string macro = "RELAY_HAS_";
  for (char c : name) macro += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  context_.out.raw(cat("#ifdef ", macro, "\n"));
  std::vector<const Region*> operands;
  std::vector<Expr> offsets;
  for (const auto& list : {n.reads, n.writes}) {
    for (const Region& r : list) {
      operands.push_back(&r);
      offsets.push_back(codegen::offset_of(*r.buffer, r.min, context_.bounds, code_.pool()));
    }
  }
  Expressions e(context_, offsets);
  std::string arguments;
  for (size_t i = 0; i < operands.size(); ++i) {
    arguments += cat(i ? ", " : "", context_.places.at(operands[i]->buffer).name);
    if (!offsets[i].is_int(0)) arguments += cat(" + (", e.scalar(offsets[i]), ")");
  }
  context_.out.line("relay_", name, "(", arguments, ");");
  context_.out.raw("#else\n");
  statement(n.body);
  context_.out.raw("#endif\n");
}

void Statements::condition(const If& n) {
  Expressions e(context_, {n.condition});
  const std::string condition = e.condition(n.condition);
  context_.out.open("if (", condition, ") {");
  statement(n.then_branch);
  if (n.else_branch) {
    context_.out.reopen("} else {");
    statement(n.else_branch);
  }
  context_.out.close();
}

void Statements::require(const Require& n) {
  may_fail_ = true;
  const size_t code = codegen::number_of(n, code_.messages());
  Expressions e(context_, {n.condition});
  const std::string condition = e.condition(n.condition);
  context_.out.open("if (!(", condition, ")) {");
  if (context_.dialect.has_grid()) {
    context_.out.line("relay_fail(failure, ", code, ");");
    context_.out.line("return;");
  } else {
    context_.out.line("return ", code, ";");
  }
  context_.out.close();
}

void Statements::prefetch(const Prefetch& n) {
  const Place& place = context_.places.at(n.buffer);
  if (context_.dialect.prefetch.empty() || place.variables) return;
  const Expr offset = codegen::offset_of(*n.buffer, n.indices, context_.bounds, code_.pool());
  const std::string text = Expressions(context_, {offset}).scalar(offset);
  context_.out.line(context_.dialect.prefetch, "(", place.name, ", ", text, ");");
}

void Statements::allocate(const Allocate& n) {
  const Buffer& b = *n.buffer;
  const std::string name = context_.names.unique(b.name.text());
  const std::optional<int64_t> extent = memory_extent(b);
  CHECK(extent, cat("local buffer ", b.name.text(), " of a kernel has no constant size: ask cannot_compile"));
  const int64_t count = std::max<int64_t>(*extent, 1);
  // A block's shared memory is scarce: there small floats stay small.
  const bool shared = b.scope == Scope::kShared && !context_.dialect.shared.empty();
  Place place{.name = name, .as_stored = shared || b.dtype.is_bool()};
  if (!shared) place.variables = codegen::as_variables(n, plan_, context_.dialect.parallel);
  if (place.variables) {
    const std::string_view type = value_type(b.dtype);
    for (const auto& [offset, lanes] : *place.variables) {
      const std::string variable = place.variable_names[offset] =
          context_.names.unique(cat(name, "_", offset));
      context_.out.line(lanes == 1 ? std::string(type) : cat("relay_vec<", type, ", ", lanes, ">"), " ",
                        variable, ";");
    }
    place.as_stored = false;
  } else {
    const std::string type(place.as_stored ? memory_type(b.dtype) : value_type(b.dtype));
    if (shared) {
      context_.out.line(context_.dialect.shared, "(", type, ", ", name, ", ", count, ");");
    } else {
      context_.out.line("alignas(64) ", type, " ", name, "[", count, "];");
    }
    locals_.push_back({type, name});
  }
  const bool array = !place.variables;
  context_.places[&b] = std::move(place);
  statement(n.body);
  if (array) locals_.pop_back();
}

}  // namespace relay::kernel::print
