#include "kernel/llvm/statements.h"

#include <algorithm>

#include "base/cat.h"
#include "base/check.h"
#include "kernel/codegen/requirements.h"
#include "kernel/llvm/instructions.h"
#include "kernel/statements.h"
#include "kernel/walk.h"

namespace relay::kernel::llvm {
namespace {

constexpr uint64_t kLocalAlignment = 64;

Value* argument(::llvm::Function* f, size_t i) { return f->getArg(static_cast<unsigned>(i)); }

// Statements that are done below this one, where loops are as long as it says.
int64_t work_of(Stmt s) {
  constexpr int64_t kMuch = 1 << 20;
  int64_t work = 0;
  for (Stmt c : children(s)) work = std::min(work + work_of(c), kMuch);
  const auto* loop = s->as<For>();
  if (!loop) return std::max<int64_t>(work, 1);
  if (loop->extent->kind != ExprKind::kInt || loop->extent->int_value > kMuch) return kMuch;
  return std::min(work * std::max<int64_t>(loop->extent->int_value, 1), kMuch);
}

}  // namespace

void Statements::emit(::llvm::Function* function) {
  quotients_ = codegen::name_quotients(code_.pool(), code_.body());
  plan_ = codegen::VectorPlan(quotients_.body, options_.vector_bytes);
  function_ = function;
  make_.SetInsertPoint(::llvm::BasicBlock::Create(make_.getContext(), "entry", function));
  statement(quotients_.body);
  make_.CreateRet(make_.getInt32(0));
}

void Statements::statement(Stmt s) {
  switch (s->kind) {
    case StmtKind::kFor: return loop(*s->as<For>());
    case StmtKind::kStore: return store(*s->as<Store>());
    case StmtKind::kSeq:
      for (Stmt c : s->as<Seq>()->body) statement(c);
      return;
    case StmtKind::kIf: return condition(*s->as<If>());
    case StmtKind::kAllocate: return allocate(*s->as<Allocate>());
    case StmtKind::kRequire: return require(*s->as<Require>());
    case StmtKind::kPrefetch: return prefetch(*s->as<Prefetch>());
    case StmtKind::kNop: return;
    case StmtKind::kBlock: return instruction(*s->as<Block>());
  }
}

::llvm::BasicBlock* Statements::block(const char* name) {
  return ::llvm::BasicBlock::Create(make_.getContext(), name, function_);
}

// --- Loops ---

void Statements::loop(const For& n) {
  const Bounds outer = around_.bounds;
  around_.bounds.bind(n.var, n.extent);
  if (n.how == ForKind::kParallel && !in_parallel_) {
    parallel_loop(n);
  } else if (n.how == ForKind::kVectorized && plan_.contains(&n)) {
    codegen::for_each_piece(plan_, n, code_.pool(), around_.lanes, [&](Stmt s) { statement(s); });
  } else {
    serial_loop(n);
  }
  around_.bounds = outer;
}

void Statements::serial_loop(const For& n) {
  Value* extent = Expressions(around_, {n.extent}).scalar(n.extent);
  const bool runs = n.extent->kind == ExprKind::kInt && n.extent->int_value > 0;
  ::llvm::MDNode* outer = around_.independent;
  // What is done in an iteration that depends on no other may be marked so, unless it stands
  // in a further loop.
  if (n.how == ForKind::kVectorized)
    around_.independent = ::llvm::MDNode::getDistinct(make_.getContext(), {});
  iterate(n, make_.getInt64(0), extent, runs);
  around_.independent = outer;
}

void Statements::iterate(const For& n, Value* begin, Value* end, bool runs, bool alike) {
  ::llvm::BasicBlock* before = make_.GetInsertBlock();
  ::llvm::BasicBlock *body = block("loop"), *after = block("done");
  if (runs) {
    make_.CreateBr(body);
  } else {
    make_.CreateCondBr(make_.CreateICmpSLT(begin, end), body, after);
  }
  make_.SetInsertPoint(body);
  ::llvm::PHINode* var = make_.CreatePHI(make_.getInt64Ty(), 2);
  var->addIncoming(begin, before);
  around_.variables[n.var.get()] = var;
  const size_t outer = loops_.size();
  loops_.push_back(n.var);
  if (const auto it = quotients_.of_loop.find(n.var.get()); it != quotients_.of_loop.end()) {
    for (const codegen::Quotient& q : it->second) {
      around_.variables[q.var.get()] = Expressions(around_, {q.value}).scalar(q.value);
      loops_.push_back(q.var);
    }
  }
  statement(n.body);
  loops_.resize(outer);
  Value* next = make_.CreateNSWAdd(var, make_.getInt64(1));
  var->addIncoming(next, make_.GetInsertBlock());
  auto* back = make_.CreateCondBr(make_.CreateICmpSLT(next, end), body, after);
  if (::llvm::MDNode* hints = loop_hints(n, around_.independent, alike))
    back->setMetadata(::llvm::LLVMContext::MD_loop, hints);
  make_.SetInsertPoint(after);
}

::llvm::MDNode* Statements::loop_hints(const For& n, ::llvm::MDNode* accesses, bool alike) {
  auto& context = make_.getContext();
  std::vector<::llvm::Metadata*> parts{nullptr};
  const auto hint = [&](const char* name, ::llvm::Metadata* value) {
    std::vector<::llvm::Metadata*> words{::llvm::MDString::get(context, name)};
    if (value) words.push_back(value);
    parts.push_back(::llvm::MDNode::get(context, words));
  };
  // Around vectors the schedule says what is unrolled: more of it, and register tiles do not
  // fit the registers.
  if (n.how == ForKind::kUnrolled) {
    hint("llvm.loop.unroll.full", nullptr);
  } else if (alike || plan_.reaches(n.body)) {
    hint("llvm.loop.unroll.disable", nullptr);
  }
  if (alike) hint("llvm.loop.vectorize.enable", ::llvm::ConstantAsMetadata::get(make_.getFalse()));
  if (n.how == ForKind::kVectorized && !alike) {
    hint("llvm.loop.vectorize.enable", ::llvm::ConstantAsMetadata::get(make_.getTrue()));
    hint("llvm.loop.parallel_accesses", accesses);
  }
  if (parts.size() == 1) return nullptr;
  ::llvm::MDNode* id = ::llvm::MDNode::getDistinct(context, parts);
  id->replaceOperandWith(0, id);
  return id;
}

// What the body of a parallel loop uses from outside: arrays, then variables.
struct Statements::Shared {
  std::vector<const Buffer*> arrays;
  std::vector<const ExprNode*> variables;
  std::vector<Value*> values;  // of the arrays, then of the variables
  std::vector<Type*> types;
};

Statements::Shared Statements::shared_values() const {
  Shared out;
  for (const auto& [b, place] : around_.places) {
    if (place.base) out.arrays.push_back(b);
  }
  std::sort(out.arrays.begin(), out.arrays.end(),
            [](const Buffer* a, const Buffer* b) { return a->id < b->id; });
  for (const Buffer* b : out.arrays) out.values.push_back(around_.places.at(b).base);
  for (Expr v : loops_) out.variables.push_back(v.get());
  for (const auto& [v, value] : around_.variables) {
    if (v->shape_variable) out.variables.push_back(v);
  }
  std::sort(out.variables.begin(), out.variables.end(),
            [](const ExprNode* a, const ExprNode* b) { return a->id < b->id; });
  for (const ExprNode* v : out.variables) out.values.push_back(around_.variables.at(v));
  for (Value* v : out.values) out.types.push_back(v->getType());
  return out;
}

// How many iterations of a parallel loop lie in one block, which a thread does alone.
//
// LLVM compiles a loop several times: in vectors, and one by one what vectors leave over. Where
// products and sums are contracted, the copies may contract others, so that an element depends on
// the copy that computes it. Which one that is must follow from the element's place, and not from
// the range that a thread was given. So short bodies are done in blocks, which may be vectors; an
// iteration of a long one is a block of its own, and compiled once.
int64_t Statements::iterations_at_once(const For& n) const {
  constexpr int64_t kStatements = 1024, kFewest = 32;
  if (!options_.contract || plan_.reaches(n.body)) return 1;
  const int64_t work = work_of(n.body);
  return work > kStatements / kFewest ? 1 : kStatements / work;
}

// The loop's body becomes a function of its own, which each thread calls for a range of blocks:
//   int32_t part(parallel, buffers..., local arrays..., loop variables..., shape variables...,
//                begin, end)
//   int32_t range(void* closure, int64_t begin, int64_t end)      unpacks the closure and calls it
void Statements::parallel_loop(const For& n) {
  Value* extent = Expressions(around_, {n.extent}).scalar(n.extent);
  const int64_t size = iterations_at_once(n);
  Value* blocks =
      make_.CreateSDiv(make_.CreateNSWAdd(extent, make_.getInt64(size - 1)), make_.getInt64(size));
  const Shared shared = shared_values();
  Type *pointer = make_.getPtrTy(), *index = make_.getInt64Ty(), *status = make_.getInt32Ty();
  ::llvm::StructType* closure_type = ::llvm::StructType::get(make_.getContext(), shared.types);
  std::vector<Type*> part_types = shared.types;
  part_types.insert(part_types.end(), {index, index});
  const auto function = [&](const std::vector<Type*>& parameters, const char* name) {
    auto* f = ::llvm::Function::Create(::llvm::FunctionType::get(status, parameters, false),
                                       ::llvm::GlobalValue::InternalLinkage, name, function_->getParent());
    f->addFnAttrs(*options_.attributes);
    return f;
  };
  ::llvm::Function* part = function(part_types, "part");
  part->addFnAttr(::llvm::Attribute::NoInline);  // its pointers would no longer be known not to alias
  for (size_t i = 0; i < shared.arrays.size(); ++i) {
    if (around_.places.at(shared.arrays[i]).apart)
      part->addParamAttr(static_cast<unsigned>(i), ::llvm::Attribute::NoAlias);
  }
  ::llvm::Function* range = function({pointer, index, index}, "range");

  const auto outer_point = make_.saveIP();
  ::llvm::Function* outer_function = function_;
  emit_part(n, shared, part);
  emit_range(shared, closure_type, part, range);
  function_ = outer_function;
  make_.restoreIP(outer_point);

  Value* closure = stack_slot(closure_type, nullptr, "closure");
  for (size_t i = 0; i < shared.values.size(); ++i) {
    make_.CreateStore(shared.values[i],
                      make_.CreateStructGEP(closure_type, closure, static_cast<unsigned>(i)));
  }
  run_parallel(blocks, range, closure);
}

// The body, with the function's arguments in the place of what is outside.
void Statements::emit_part(const For& n, const Shared& shared, ::llvm::Function* part) {
  const auto outer_variables = around_.variables;
  const auto outer_places = around_.places;
  function_ = part;
  make_.SetInsertPoint(block("entry"));
  const size_t arrays = shared.arrays.size(), all = shared.values.size();
  for (size_t i = 0; i < arrays; ++i) around_.places[shared.arrays[i]].base = argument(part, i);
  for (size_t i = 0; i < shared.variables.size(); ++i)
    around_.variables[shared.variables[i]] = argument(part, arrays + i);
  in_parallel_ = true;
  emit_blocks(n, argument(part, all), argument(part, all + 1));
  in_parallel_ = false;
  make_.CreateRet(make_.getInt32(0));
  around_.variables = outer_variables;
  around_.places = outer_places;
}

// The iterations of the blocks [begin, end).
void Statements::emit_blocks(const For& n, Value* begin, Value* end) {
  const int64_t size = iterations_at_once(n);
  if (size == 1) return iterate(n, begin, end, false, /*alike=*/options_.contract);
  Value* extent = Expressions(around_, {n.extent}).scalar(n.extent);
  ::llvm::BasicBlock *before = make_.GetInsertBlock(), *body = block("block"), *after = block("blocks_done");
  make_.CreateCondBr(make_.CreateICmpSLT(begin, end), body, after);
  make_.SetInsertPoint(body);
  ::llvm::PHINode* number = make_.CreatePHI(make_.getInt64Ty(), 2);
  number->addIncoming(begin, before);
  Value* first = make_.CreateNSWMul(number, make_.getInt64(size));
  Value* past = make_.CreateNSWAdd(first, make_.getInt64(size));
  Value* last = make_.CreateSelect(make_.CreateICmpSLT(past, extent), past, extent);
  iterate(n, first, last, true);
  Value* next = make_.CreateNSWAdd(number, make_.getInt64(1));
  number->addIncoming(next, make_.GetInsertBlock());
  make_.CreateCondBr(make_.CreateICmpSLT(next, end), body, after);
  make_.SetInsertPoint(after);
}

void Statements::emit_range(const Shared& shared, ::llvm::StructType* closure_type, ::llvm::Function* part,
                            ::llvm::Function* range) {
  function_ = range;
  make_.SetInsertPoint(block("entry"));
  std::vector<Value*> args;
  for (size_t i = 0; i < shared.types.size(); ++i) {
    args.push_back(make_.CreateLoad(
        shared.types[i], make_.CreateStructGEP(closure_type, argument(range, 0), static_cast<unsigned>(i))));
  }
  args.push_back(argument(range, 1));
  args.push_back(argument(range, 2));
  make_.CreateRet(make_.CreateCall(part, args));
}

// Calls the function's relay_parallel, and returns if that fails.
//   struct relay_parallel {
//     uint32_t struct_size; void* self; int32_t (*run)(self, extent, range, closure);
//   };
void Statements::run_parallel(Value* extent, ::llvm::Function* range, Value* closure) {
  Type* pointer = make_.getPtrTy();
  ::llvm::StructType* callback =
      ::llvm::StructType::get(make_.getContext(), {make_.getInt32Ty(), pointer, pointer});
  Value* parallel = argument(function_, 0);
  Value* self = make_.CreateLoad(pointer, make_.CreateStructGEP(callback, parallel, 1));
  Value* run = make_.CreateLoad(pointer, make_.CreateStructGEP(callback, parallel, 2));
  auto* type =
      ::llvm::FunctionType::get(make_.getInt32Ty(), {pointer, make_.getInt64Ty(), pointer, pointer}, false);
  Value* failure = make_.CreateCall(type, run, {self, extent, range, closure});
  ::llvm::BasicBlock *failed = block("failed"), *after = block("done");
  make_.CreateCondBr(make_.CreateICmpNE(failure, make_.getInt32(0)), failed, after);
  make_.SetInsertPoint(failed);
  make_.CreateRet(failure);
  make_.SetInsertPoint(after);
}

// --- Other statements ---

void Statements::store(const Store& n) {
  const Expr offset = codegen::offset_of(*n.buffer, n.indices, around_.bounds, code_.pool());
  Expressions(around_, {offset, n.value}).store(*n.buffer, offset, n.value);
}

// A block that an instruction does: what else was a block has been expanded.
void Statements::instruction(const Block& n) {
  const Rules& rules = options_.rules;
  const auto in_memory = [&](const Region& r) {
    return around_.places.at(r.buffer).as_stored ||
           around_.arithmetic.memory_type(r.buffer->dtype) == around_.arithmetic.value_type(r.buffer->dtype);
  };
  std::vector<const Region*> operands;
  for (const auto& list : {n.reads, n.writes}) {
    for (const Region& r : list) operands.push_back(&r);
  }
  if (!has_instruction(rules, n.instruction.text()) ||
      !std::all_of(operands.begin(), operands.end(), [&](const Region* r) { return in_memory(*r); }))
    return statement(n.body);
  std::vector<Expr> offsets;
  for (const Region* r : operands)
    offsets.push_back(codegen::offset_of(*r->buffer, r->min, around_.bounds, code_.pool()));
  Expressions expressions(around_, offsets);
  std::vector<Value*> addresses;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Buffer& b = *operands[i]->buffer;
    addresses.push_back(make_.CreateInBoundsGEP(around_.arithmetic.memory_type(b.dtype),
                                                around_.places.at(&b).base, expressions.scalar(offsets[i])));
  }
  emit_instruction(make_, n.instruction.text(), addresses);
}

void Statements::condition(const If& n) {
  Value* condition = Expressions(around_, {n.condition}).scalar(n.condition);
  ::llvm::BasicBlock *then_block = block("then"), *else_block = n.else_branch ? block("else") : nullptr;
  ::llvm::BasicBlock* after = block("after");
  make_.CreateCondBr(condition, then_block, else_block ? else_block : after);
  make_.SetInsertPoint(then_block);
  statement(n.then_branch);
  make_.CreateBr(after);
  if (else_block) {
    make_.SetInsertPoint(else_block);
    statement(n.else_branch);
    make_.CreateBr(after);
  }
  make_.SetInsertPoint(after);
}

void Statements::require(const Require& n) {
  Value* condition = Expressions(around_, {n.condition}).scalar(n.condition);
  ::llvm::BasicBlock *failed = block("failed"), *after = block("after");
  make_.CreateCondBr(condition, after, failed);
  make_.SetInsertPoint(failed);
  make_.CreateRet(make_.getInt32(static_cast<uint32_t>(codegen::number_of(n, code_.messages()))));
  make_.SetInsertPoint(after);
}

void Statements::prefetch(const Prefetch& n) {
  const Place& place = around_.places.at(n.buffer);
  const Expr offset = codegen::offset_of(*n.buffer, n.indices, around_.bounds, code_.pool());
  Value* elements = Expressions(around_, {offset}).scalar(offset);
  // The address may be anywhere, where a pointer could not point: it is not "in bounds".
  Value* address = make_.CreateGEP(around_.arithmetic.memory_type(n.buffer->dtype), place.base, elements);
  // To read, into the second level of cache (the first is small), data.
  make_.CreateIntrinsic(::llvm::Intrinsic::prefetch, {address->getType()},
                        {address, make_.getInt32(0), make_.getInt32(2), make_.getInt32(1)});
}

// Slots are made where the function begins: they stay one slot if the statement is run again.
Value* Statements::stack_slot(Type* type, Value* count, std::string_view name) {
  ::llvm::BasicBlock& entry = function_->getEntryBlock();
  Instructions at(&entry, entry.begin());
  auto* slot = at.CreateAlloca(type, count, ::llvm::StringRef(name.data(), name.size()));
  if (count) slot->setAlignment(::llvm::Align(kLocalAlignment));
  return slot;
}

void Statements::allocate(const Allocate& n) {
  const Buffer& b = *n.buffer;
  const std::optional<int64_t> extent = memory_extent(b);
  CHECK(extent, cat("local buffer ", b.name.text(), " of a kernel has no constant size: ask cannot_compile"));
  const int64_t count = std::max<int64_t>(*extent, 1);
  Place place{.as_stored = b.dtype.is_bool()};
  if (const auto variables = codegen::as_variables(n, plan_, true)) {
    for (const auto& [offset, lanes] : *variables)
      place.variables[offset] =
          stack_slot(around_.arithmetic.value_type(b.dtype, lanes), nullptr, b.name.text());
    place.as_stored = false;
  } else {
    Type* element =
        place.as_stored ? around_.arithmetic.memory_type(b.dtype) : around_.arithmetic.value_type(b.dtype);
    place.base = stack_slot(element, make_.getInt32(static_cast<uint32_t>(count)), b.name.text());
  }
  around_.places[&b] = std::move(place);
  statement(n.body);
  around_.places.erase(&b);
}

}  // namespace relay::kernel::llvm
