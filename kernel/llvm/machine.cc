#include "kernel/llvm/machine.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <mutex>
#include <new>

#include "base/cat.h"
#include "base/check.h"
#include "kernel/llvm/emit.h"
#include "kernel/print/print.h"
#include "target/host.h"
#include "target/instructions.h"

namespace relay::kernel::llvm {
namespace {

void initialise() {
  // LLVM is built without exceptions and would abort. It is not usable afterwards: what it held is
  // lost, locks among it.
  static std::once_flag told, once;
  std::call_once(told, [] {
    ::llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
  });
  std::call_once(once, [] {
    // Of each instruction set that targets have: code for another one than this machine's is made,
    // too, and run elsewhere.
    LLVMInitializeX86TargetInfo(), LLVMInitializeX86Target(), LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo(), LLVMInitializeAArch64Target(), LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
}

bool contracts(const toolchain::CompileOptions& options) { return options.opt_level >= 2; }

std::unique_ptr<::llvm::TargetMachine> target_machine(const toolchain::CompileOptions& options) {
  initialise();
  std::string wrong;
  const target::LlvmNames names = target::llvm_names(options.target.cpu);
  const ::llvm::Target* target = ::llvm::TargetRegistry::lookupTarget(names.triple, wrong);
  CHECK(target, wrong);
  ::llvm::TargetOptions details;
  details.AllowFPOpFusion = contracts(options) ? ::llvm::FPOpFusion::Fast : ::llvm::FPOpFusion::Strict;
  const auto level = options.opt_level <= 0   ? ::llvm::CodeGenOptLevel::Less
                     : options.opt_level == 1 ? ::llvm::CodeGenOptLevel::Default
                                              : ::llvm::CodeGenOptLevel::Aggressive;
  std::unique_ptr<::llvm::TargetMachine> machine(
      target->createTargetMachine(names.triple, names.processor, names.features, details, ::llvm::Reloc::PIC_,
                                  ::llvm::CodeModel::Small, level, /*JIT=*/true));
  CHECK(machine, "LLVM has no machine for this target");
  return machine;
}

void optimise(::llvm::Module& module, ::llvm::TargetMachine& machine, int opt_level) {
  ::llvm::PipelineTuningOptions tuning;
  tuning.SLPVectorization = opt_level >= 1;
  tuning.LoopVectorization = opt_level >= 1;
  ::llvm::LoopAnalysisManager loops;
  ::llvm::FunctionAnalysisManager functions;
  ::llvm::CGSCCAnalysisManager components;
  ::llvm::ModuleAnalysisManager modules;
  ::llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  const ::llvm::OptimizationLevel level = opt_level <= 0   ? ::llvm::OptimizationLevel::O1
                                          : opt_level == 1 ? ::llvm::OptimizationLevel::O2
                                                           : ::llvm::OptimizationLevel::O3;
  builder.buildPerModuleDefaultPipeline(level).run(module, modules);
}

}  // namespace

std::string code_generator_version() { return "LLVM " LLVM_VERSION_STRING; }

// --- Code ----------------------------------------------------------------------------------------

struct Emitted::Module {
  ::llvm::LLVMContext context;
  std::unique_ptr<::llvm::Module> module;
  std::string wrong;  // what LLVM has reported

  Module() {
    // By default it prints to stderr and ends the process. Of what it could not optimise
    // nobody needs to hear.
    context.setDiagnosticHandlerCallBack(
        [](const ::llvm::DiagnosticInfo* info, void* self) {
          if (info->getSeverity() != ::llvm::DS_Error) return;
          ::llvm::raw_string_ostream stream(static_cast<Module*>(self)->wrong);
          ::llvm::DiagnosticPrinterRawOStream printer(stream);
          info->print(printer);
        },
        this);
  }
};

Emitted::Emitted() = default;
Emitted::Emitted(Emitted&&) noexcept = default;
Emitted::~Emitted() = default;

std::string Emitted::make(const Kernel& k, const std::string& entry,
                          const toolchain::CompileOptions& options) {
  module_ = std::make_unique<Module>();
  const target::Cpu& cpu = options.target.cpu;
  const target::LlvmNames names = target::llvm_names(cpu);
  ::llvm::AttrBuilder attributes(module_->context);
  attributes.addAttribute(::llvm::Attribute::NoUnwind);
  attributes.addAttribute("target-cpu", names.processor);
  attributes.addAttribute("target-features", names.features);
  attributes.addAttribute("no-trapping-math", "true");
  // Whoever opens the program says whether denormals are flushed (runtime/denormals.h).
  attributes.addAttribute("denormal-fp-math", "dynamic,dynamic");
  if (!names.vector_width.empty()) attributes.addAttribute("prefer-vector-width", names.vector_width);
  EmitOptions emit_options;
  emit_options.entry = entry;
  emit_options.rules.features = cpu.features;
  emit_options.rules.scale_instruction = cpu.isa == target::Isa::kX86_64 && cpu.vector_bytes == 64;
  emit_options.vector_bytes = cpu.vector_bytes;
  emit_options.contract = contracts(options);
  emit_options.in_place = options.in_place;
  emit_options.attributes = &attributes;
  if (std::string wrong = codegen::cannot_compile(k); !wrong.empty()) return wrong;
  module_->module = emit(k, emit_options, module_->context);
  module_->module->setTargetTriple(names.triple);
  std::string wrong;
  ::llvm::raw_string_ostream report(wrong);
  CHECK(!::llvm::verifyModule(*module_->module, &report), wrong);
  return {};
}

std::string Emitted::text() const {
  std::string out;
  ::llvm::raw_string_ostream(out) << *module_->module;
  return out;
}

std::string Emitted::compile(const toolchain::CompileOptions& options, std::string& object) {
  const std::unique_ptr<::llvm::TargetMachine> machine = target_machine(options);
  ::llvm::Module& module = *module_->module;
  module.setDataLayout(machine->createDataLayout());
  module.setPICLevel(::llvm::PICLevel::BigPIC);
  optimise(module, *machine, options.opt_level);
  ::llvm::SmallVector<char, 0> bytes;
  ::llvm::raw_svector_ostream stream(bytes);
  ::llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, ::llvm::CodeGenFileType::ObjectFile))
    return "LLVM cannot write object files for this target";
  passes.run(module);
  if (!module_->wrong.empty()) return cat("LLVM failed: ", module_->wrong);
  object.assign(bytes.data(), bytes.size());
  return {};
}

// --- Linking -------------------------------------------------------------------------------------

struct Linked::Session {
  std::unique_ptr<::llvm::orc::LLJIT> jit;
};

Linked::Linked() = default;
Linked::~Linked() = default;

std::string Linked::start() {
  initialise();
  session_ = std::make_unique<Session>();
  ::llvm::orc::LLJITBuilder builder;
  builder.setJITTargetMachineBuilder(::llvm::orc::JITTargetMachineBuilder(
      ::llvm::Triple(target::llvm_names(target::baseline(target::kHere).cpu).triple)));
  // Kernels have no static constructors and throw nothing: there is nothing to set up for them.
  builder.setPlatformSetUp(::llvm::orc::setUpInactivePlatform);
  builder.setObjectLinkingLayerCreator(
      [](::llvm::orc::ExecutionSession& session,
         const ::llvm::Triple&) -> ::llvm::Expected<std::unique_ptr<::llvm::orc::ObjectLayer>> {
        return std::make_unique<::llvm::orc::ObjectLinkingLayer>(session);
      });
  auto made = builder.create();
  if (!made) return cat("LLVM cannot link here: ", ::llvm::toString(made.takeError()));
  session_->jit = std::move(*made);
  ::llvm::orc::SymbolMap helpers;
  for (const Helper& h : kHelpers) {
    helpers[session_->jit->mangleAndIntern(h.name)] = {::llvm::orc::ExecutorAddr::fromPtr(h.address),
                                                       ::llvm::JITSymbolFlags::Exported};
  }
  if (auto error = session_->jit->getMainJITDylib().define(::llvm::orc::absoluteSymbols(std::move(helpers))))
    return ::llvm::toString(std::move(error));
  return {};
}

std::string Linked::add(const std::string& object, const std::string& name) {
  auto buffer = ::llvm::MemoryBuffer::getMemBufferCopy(object, name);
  if (auto error = session_->jit->addObjectFile(std::move(buffer))) return ::llvm::toString(std::move(error));
  return {};
}

std::string Linked::find(const std::string& symbol, void*& address) {
  auto found = session_->jit->lookup(symbol);
  if (!found) return ::llvm::toString(found.takeError());
  address = found->toPtr<void*>();
  return {};
}

}  // namespace relay::kernel::llvm
