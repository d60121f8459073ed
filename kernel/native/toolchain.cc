#include "kernel/native/toolchain.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/cat.h"
#include "base/file.h"
#include "kernel/native/subprocess.h"

namespace relay::kernel::native {
namespace {

Target sse2() { return {"sse2", {"-msse2"}, {"sse2"}, 4}; }
Target avx2() { return {"avx2", {"-mavx2", "-mfma", "-mf16c"}, {"avx2", "fma"}, 8}; }
Target avx512() {
  // Without the last flag the compilers keep to half of a register.
  return {
      "avx512",
      {"-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mf16c", "-mprefer-vector-width=512"},
      {"avx512f", "avx512bw", "avx512dq", "avx512vl", "fma"},
      16};
}

// The best of the named sets that this processor has, so that an artifact says exactly what it needs.
Target native() {
  __builtin_cpu_init();
  Target t = sse2();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    t = avx512();
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    t = avx2();
  }
  t.name = "native";
  return t;
}

std::string first_lines(std::string_view text, size_t most) {
  std::string out;
  for (size_t i = 0; i < most && !text.empty(); ++i) {
    const size_t end = std::min(text.find('\n'), text.size());
    out += cat("  ", text.substr(0, std::min<size_t>(end, 300)), "\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string failure(const std::vector<std::string>& command, const Finished& f) {
  if (!f.problem.empty()) return f.problem;
  if (f.exit_code == 0) return {};
  // Notes and where a text was included from only push the cause out of sight; a linker's cause stands before the
  // line with that word.
  const bool compiles = std::find(command.begin(), command.end(), "-c") != command.end();
  std::string_view text = f.output;
  if (const size_t at = text.find("error:"); compiles && at != std::string_view::npos) {
    const size_t line = text.rfind('\n', at);
    text.remove_prefix(line == std::string_view::npos ? 0 : line + 1);
  }
  return cat(command[0], " failed:\n", first_lines(text, 8));
}

}  // namespace

std::vector<std::string> target_names() { return {"native", "sse2", "avx2", "avx512"}; }

std::string parse_target(const std::string& text, Target& out) {
  const std::string name = text.starts_with("cpu:") ? text.substr(4) : text;
  if (name == "native" || name == "cpu" || name.empty()) {
    out = native();
  } else if (name == "sse2") {
    out = sse2();
  } else if (name == "avx2") {
    out = avx2();
  } else if (name == "avx512") {
    out = avx512();
  } else {
    return cat("there is no target `", text, "`; there are: ", join(target_names(), ", "));
  }
  return {};
}

std::string find_compiler(Compiler& out) {
  static const std::pair<std::string, Compiler> found = [] {
    std::vector<std::string> candidates{"clang++-19", "clang++", "g++"};
    const char* given = std::getenv("RELAY_CXX");
    if (given && *given) candidates = {given};
    for (const std::string& program : candidates) {
      const Finished f = run({program, "--version"}, "", 30);
      if (f.exit_code == 0) {
        return std::pair(std::string(), Compiler{program, f.output.substr(0, f.output.find('\n'))});
      }
    }
    return std::pair(given && *given
                         ? cat("RELAY_CXX is ", given, ", which cannot be run")
                         : std::string("there is no C++ compiler: install g++ (apt-get install g++)"),
                     Compiler{});
  }();
  out = found.second;
  return found.first;
}

std::string build_library(const std::vector<Source>& sources, const CompileOptions& options,
                          const std::string& folder, const std::string& library) {
  Compiler compiler;
  if (std::string wrong = find_compiler(compiler); !wrong.empty()) return wrong;
  std::vector<std::string> flags{compiler.program,
                                 "-std=c++17",
                                 "-fPIC",
                                 "-fvisibility=hidden",
                                 "-fno-exceptions",
                                 "-fno-rtti",
                                 "-fno-math-errno",
                                 "-fno-trapping-math",
                                 "-Wall",
                                 "-Wextra",
                                 "-I."};
  flags.push_back(options.opt_level <= 0 ? "-O1" : options.opt_level == 1 ? "-O2" : "-O3");
  flags.push_back(options.opt_level >= 2 ? "-ffp-contract=fast" : "-ffp-contract=off");
  flags.insert(flags.end(), options.target.flags.begin(), options.target.flags.end());
  std::vector<std::vector<std::string>> compiles;
  std::vector<std::string> link{compiler.program, "-shared", "-o", library};
  for (const Source& s : sources) {
    if (std::string wrong = write_file_atomically(cat(folder, "/", s.name), s.text); !wrong.empty())
      return wrong;
    if (!s.name.ends_with(".cc")) continue;
    std::vector<std::string> command = flags;
    const std::string object = s.name + ".o";
    command.insert(command.end(), {"-c", s.name, "-o", object});
    compiles.push_back(std::move(command));
    link.push_back(object);
  }
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const std::vector<Finished> done = run_all(compiles, folder, options.seconds, cores);
  for (size_t i = 0; i < done.size(); ++i) {
    if (std::string wrong = failure(compiles[i], done[i]); !wrong.empty()) return wrong;
  }
  // What the library does not use it shall not need: a compiler's own C++ library among others.
  link.insert(link.end(),
              {"-Wl,--as-needed", "-Wl,--no-undefined", "-Wl,-z,noexecstack", "-Wl,--build-id=none"});
  link.insert(link.end(), options.link_flags.begin(), options.link_flags.end());
  link.insert(link.end(), {"-lm", "-lpthread", "-ldl"});
  return failure(link, run(link, folder, options.seconds));
}

Library::~Library() {
  if (handle_) dlclose(handle_);
}

Library& Library::operator=(Library&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

std::string Library::open(const std::string& path) {
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_) return {};
  const char* why = dlerror();
  return cat("cannot load ", path, ": ", why ? why : "unknown reason");
}

void* Library::find(const std::string& symbol) const { return dlsym(handle_, symbol.c_str()); }

}  // namespace relay::kernel::native
