#include "toolchain/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <sstream>

#include "base/cat.h"
#include "base/file.h"
#include "base/parallel.h"
#include "target/host.h"
#include "target/instructions.h"
#include "toolchain/kept_objects.h"
#include "toolchain/subprocess.h"

namespace relay::toolchain {
namespace {

// Keeps the sources where the command can be run again. The same failure has the same folder.
// Says where that is.
std::string reproducer(const std::vector<Source>& sources, const std::string& command) {
  const std::string cache = cache_folder();
  if (cache.empty()) return "no reproducer was kept: neither XDG_CACHE_HOME nor HOME says where";
  size_t hash = std::hash<std::string>()(command);
  for (const Source& s : sources) hash = hash * 31 + std::hash<std::string>()(s.name + s.text);
  const std::string folder = cat(cache, "/rejected/", fmt::format("{:016x}", hash));
  std::string wrong = make_folders(folder);
  for (const Source& s : sources) {
    if (wrong.empty()) wrong = write_file_atomically(cat(folder, "/", s.name), s.text);
  }
  return wrong.empty() ? "reproducer: " + folder : "no reproducer was kept: " + wrong;
}

// The same with the folder of a reproducer.
std::string failure(const std::vector<std::string>& command, const Finished& f,
                    const std::vector<Source>& sources) {
  const std::string wrong = toolchain::failure(command, f);
  if (wrong.empty() || !f.problem.empty()) return wrong;
  return cat(wrong, "  ", reproducer(sources, join(command, " ")), "\n");
}

// A path may have blanks; otherwise they stand between a program and its arguments.
std::vector<std::string> words_of_command(const std::string& text) {
  std::error_code none;
  if (std::filesystem::exists(text, none)) return {text};
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

// The first compiler that can be run: the one that a variable names, or one of several. What was
// found stands as long as the variable and PATH do. That there is none does not stand: who reads it
// installs one, and asks the same process again.
class Searches {
 public:
  Searches(const char* variable, std::vector<std::string> candidates, std::string none)
      : variable_(variable), candidates_(std::move(candidates)), none_(std::move(none)) {}

  // What to do if there is no compiler; else an empty text.
  std::string find(Compiler& out) {
    const std::lock_guard guard(mutex_);
    const std::string chosen = value_of(variable_), path = value_of("PATH");
    if (!found_ || chosen != chosen_ || path != path_) {
      chosen_ = chosen;
      path_ = path;
      found_ = search();
    }
    if (found_) {
      out = *found_;
      return {};
    }
    return chosen_.empty() ? none_ : cat(variable_, " is ", chosen_, ", which cannot be run");
  }

 private:
  static std::string value_of(const char* variable) {
    const char* given = std::getenv(variable);
    return given ? given : "";
  }

  std::optional<Compiler> search() const {
    for (const std::string& candidate : chosen_.empty() ? candidates_ : std::vector<std::string>{chosen_}) {
      std::vector<std::string> command = words_of_command(candidate);
      if (command.empty()) continue;
      command.emplace_back("--version");
      const Finished f = run(command, "", 30);
      if (f.exit_code != 0) continue;
      command.pop_back();
      return Compiler{std::move(command), f.output.substr(0, f.output.find('\n'))};
    }
    return std::nullopt;
  }

  const char* variable_;
  std::vector<std::string> candidates_;
  std::string none_;
  std::mutex mutex_;
  std::string chosen_, path_;
  std::optional<Compiler> found_;
};

}  // namespace

std::string find_compiler(Compiler& out) {
  static Searches searches("RELAY_CXX", {"clang++-19", "clang++", "g++"},
                           "there is no C++ compiler: install g++ (apt-get install g++)");
  return searches.find(out);
}

std::vector<std::string> frugal_assembler(target::Isa isa, const Compiler& compiler) {
  // Only clang has an assembler of its own, and names itself in its version. `as` is for this
  // machine.
  if (isa != target::kHere || compiler.version.find("clang") == std::string::npos) return {};
  static const bool there_is_another = run({"as", "--version"}, "", 30).exit_code == 0;
  return there_is_another ? std::vector<std::string>{"-fno-integrated-as"} : std::vector<std::string>();
}

namespace {

// The compiler for the instruction set that this process does not run on.
struct Cross {
  target::Isa isa;
  const char *variable, *machine, *package;
};
constexpr Cross kCross =
    target::kHere == target::Isa::kX86_64
        ? Cross{target::Isa::kAarch64, "RELAY_CXX_AARCH64", "aarch64", "g++-aarch64-linux-gnu"}
        : Cross{target::Isa::kX86_64, "RELAY_CXX_X86_64", "x86-64", "g++-x86-64-linux-gnu"};

}  // namespace

std::string find_compiler(target::Isa isa, Compiler& out) {
  if (isa == target::kHere) return find_compiler(out);
  static_assert(kCross.isa != target::kHere);
  static Searches searches(kCross.variable, {target::machine_name(kCross.isa) + "-g++"},
                           cat("there is no C++ compiler for ", kCross.machine, ": install ", kCross.package,
                               " (apt-get install ", kCross.package, ")"));
  return searches.find(out);
}

namespace {

// The commands that make one file of objects.
std::vector<std::vector<std::string>> links(const Compiler& compiler, const CompileOptions& options,
                                            const std::vector<std::string>& objects,
                                            const std::string& library) {
  std::vector<std::string> link = compiler.command;
  if (options.archive) {
    const std::string prefix =
        options.target.cpu.isa == target::kHere ? "" : cat(target::machine_name(options.target.cpu.isa), "-");
    constexpr const char* kWhole = "whole.o";
    link.insert(link.end(), {"-r", "-nostdlib", "-o", kWhole});
    link.insert(link.end(), objects.begin(), objects.end());
    // D: no times and no owners, so that the same input gives the same bytes.
    return {
        link, {prefix + "objcopy", "--localize-hidden", kWhole}, {prefix + "ar", "rcsD", library, kWhole}};
  }
  link.insert(link.end(), {options.program ? "-pie" : "-shared", "-o", library});
  link.insert(link.end(), objects.begin(), objects.end());
  // What the library does not use it shall not need: a compiler's own C++ library among others.
  link.insert(link.end(),
              {"-Wl,--as-needed", "-Wl,--no-undefined", "-Wl,-z,noexecstack", "-Wl,--build-id=none"});
  link.insert(link.end(), options.link_flags.begin(), options.link_flags.end());
  link.insert(link.end(), {"-lm", "-lpthread", "-ldl"});
  return {link};
}

}  // namespace

namespace {

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

constexpr uint64_t kMostAssemblyBytes = uint64_t{256} << 20;

// One run of the compiler, and the file that it makes in the folder.
struct Compile {
  std::vector<std::string> command;
  std::string file;
  bool is_kept = false;
};

// Writes the sources into the folder. Adds a run for each *.cc, which makes NAME.cc with `ending`
// after it. Returns what went wrong, or an empty text.
std::string plan_compiles(const std::vector<Source>& sources, const CompileOptions& options,
                          const std::string& folder, const std::vector<std::string>& how,
                          const std::string& ending, std::vector<Compile>& out) {
  Compiler compiler;
  if (std::string wrong = find_compiler(options.target.cpu.isa, compiler); !wrong.empty()) return wrong;
  std::vector<std::string> flags = compiler.command;
  flags.insert(flags.end(), {"-std=c++17", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti",
                             "-fno-math-errno", "-fno-trapping-math", "-Wall", "-Wextra", "-I."});
  flags.push_back(options.opt_level <= 0 ? "-O1" : options.opt_level == 1 ? "-O2" : "-O3");
  flags.push_back(options.opt_level >= 2 ? "-ffp-contract=fast" : "-ffp-contract=off");
  for (const Source& s : sources) {
    if (std::string wrong = write_file_atomically(cat(folder, "/", s.name), s.text); !wrong.empty())
      return wrong;
    if (!s.name.ends_with(".cc")) continue;
    Compile next{flags, s.name + ending, !s.of_others};
    append(next.command, target::compiler_flags((s.target ? *s.target : options.target).cpu));
    append(next.command, options.compile_flags);
    append(next.command, s.flags);
    append(next.command, how);
    append(next.command, {s.name, "-o", next.file});
    out.push_back(std::move(next));
  }
  return {};
}

Compile compile_of_others(const std::string& path, const Compiler& compiler, const CompileOptions& options,
                          size_t number) {
  Compile out{compiler.command, cat("along_", number, ".o")};
  append(out.command, {"-O2", "-fPIC", "-fvisibility=hidden"});
  append(out.command, target::compiler_flags(options.target.cpu));
  if (path.ends_with(".c")) append(out.command, {"-x", "c"});
  append(out.command, {"-c", path, "-o", out.file});
  return out;
}

// Runs them side by side. Returns how the first one failed, or an empty text.
std::string run_compiles(const std::vector<Compile>& compiles, const std::vector<Source>& sources,
                         const CompileOptions& options, const std::string& folder) {
  std::vector<std::vector<std::string>> commands;
  for (const Compile& c : compiles) commands.push_back(c.command);
  const std::vector<Finished> done = run_all(commands, folder, options.seconds, usable_cores());
  for (size_t i = 0; i < done.size(); ++i) {
    if (std::string wrong = failure(commands[i], done[i], sources); !wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace

std::string assembly_of(const std::vector<Source>& sources, const CompileOptions& options,
                        std::vector<std::string>& texts) {
  TemporaryFolder folder;
  if (std::string wrong = folder.make(); !wrong.empty()) return wrong;
  std::vector<Compile> compiles;
  if (std::string wrong = plan_compiles(sources, options, folder.path(), {"-S", "-g1"}, ".s", compiles);
      !wrong.empty())
    return wrong;
  if (std::string wrong = run_compiles(compiles, sources, options, folder.path()); !wrong.empty())
    return wrong;
  texts.clear();
  for (const Compile& c : compiles) {
    texts.emplace_back();
    const std::string path = cat(folder.path(), "/", c.file);
    if (std::string wrong = read_file(path, kMostAssemblyBytes, texts.back()); !wrong.empty()) return wrong;
  }
  return {};
}

std::string build_library(const std::vector<Source>& sources, const CompileOptions& options,
                          const std::string& folder, const std::string& library) {
  Compiler compiler;
  if (std::string wrong = find_compiler(options.target.cpu.isa, compiler); !wrong.empty()) return wrong;
  std::vector<Compile> compiles, missing;
  if (std::string wrong = plan_compiles(sources, options, folder, {"-c"}, ".o", compiles); !wrong.empty())
    return wrong;
  const KeptObjects kept(compiler, folder);
  for (const Compile& c : compiles) {
    if (!c.is_kept || !kept.take(c.command, c.file)) missing.push_back(c);
  }
  std::vector<std::string> objects;
  for (const Compile& c : compiles) objects.push_back(c.file);
  for (const std::string& path : options.along) {
    missing.push_back(compile_of_others(path, compiler, options, objects.size()));
    objects.push_back(missing.back().file);
  }
  if (std::string wrong = run_compiles(missing, sources, options, folder); !wrong.empty()) return wrong;
  for (const Compile& c : missing) {
    if (c.is_kept) kept.keep(c.command, c.file);
  }
  if (!missing.empty()) kept.trim();
  for (const std::vector<std::string>& command : links(compiler, options, objects, library)) {
    if (std::string wrong = failure(command, run(command, folder, options.seconds), sources); !wrong.empty())
      return wrong;
  }
  return made_nothing(compiler.command, library);
}

std::string made_nothing(const std::vector<std::string>& command, const std::string& file) {
  if (std::filesystem::exists(file)) return {};
  return cat(command.front(), " ended without an error, and made nothing");
}

}  // namespace relay::toolchain
