#include "kernel/llvm/emit.h"

#include "kernel/codegen/working_copy.h"
#include "kernel/in_place.h"
#include "kernel/llvm/statements.h"

namespace relay::kernel::llvm {

std::unique_ptr<::llvm::Module> emit(const Kernel& k, const EmitOptions& options,
                                     ::llvm::LLVMContext& context) {
  auto module = std::make_unique<::llvm::Module>(options.entry, context);
  Instructions make(context);
  if (options.contract) {
    ::llvm::FastMathFlags flags;
    flags.setAllowContract();
    make.setFastMathFlags(flags);
  }
  Type *pointer = make.getPtrTy(), *index = make.getInt64Ty(), *status = make.getInt32Ty();

  codegen::WorkingCopy code(k);
  std::vector<const Buffer*> buffers;
  for (const auto& list : {code.kernel().inputs, code.kernel().outputs, code.kernel().temporaries})
    buffers.insert(buffers.end(), list.begin(), list.end());
  const std::vector<Expr> dims = shape_parameters(code.kernel());

  // int32_t kernel(parallel, buffers..., dims...), whose buffers are known not to overlap, but for
  // outputs that may lie on an input.
  const std::set<size_t> shared = options.in_place ? sharing_parameters(code.kernel()) : std::set<size_t>();
  std::vector<Type*> types(1 + buffers.size(), pointer);
  types.resize(types.size() + dims.size(), index);
  auto* function = ::llvm::Function::Create(::llvm::FunctionType::get(status, types, false),
                                            ::llvm::GlobalValue::InternalLinkage, "kernel", *module);
  function->addFnAttrs(*options.attributes);
  function->addFnAttr(::llvm::Attribute::NoInline);
  Surroundings around{make, Arithmetic(make, options.rules)};
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!shared.contains(i)) function->addParamAttr(static_cast<unsigned>(i + 1), ::llvm::Attribute::NoAlias);
    around.places[buffers[i]] = {.base = function->getArg(static_cast<unsigned>(i + 1)),
                                 .apart = !shared.contains(i)};
  }
  for (size_t i = 0; i < dims.size(); ++i)
    around.variables[dims[i].get()] = function->getArg(static_cast<unsigned>(1 + buffers.size() + i));
  Statements(around, code, options).emit(function);

  auto* entry =
      ::llvm::Function::Create(::llvm::FunctionType::get(status, {pointer, pointer, pointer}, false),
                               ::llvm::GlobalValue::ExternalLinkage, options.entry, *module);
  entry->addFnAttrs(*options.attributes);
  make.SetInsertPoint(::llvm::BasicBlock::Create(context, "entry", entry));
  std::vector<Value*> args{entry->getArg(0)};
  for (size_t i = 0; i < buffers.size(); ++i)
    args.push_back(make.CreateLoad(pointer, make.CreateConstGEP1_64(pointer, entry->getArg(1), i)));
  for (size_t i = 0; i < dims.size(); ++i)
    args.push_back(make.CreateLoad(index, make.CreateConstGEP1_64(index, entry->getArg(2), i)));
  make.CreateRet(make.CreateCall(function, args));
  return module;
}

}  // namespace relay::kernel::llvm
