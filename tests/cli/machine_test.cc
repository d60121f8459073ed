// What the machine lacks: a compiler, one that works, a place for temporary files, an
// artifact that is ours.
#include <signal.h>

#include <filesystem>
#include <stdexcept>

#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

class Machine : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_sum("m.relay");
  }

  // A compiler that gives `library` for whatever it is asked to link.
  Invocation compiler_that_gives(const std::string& library) const {
    return compiler(
        "previous=\n"
        "for word; do\n"
        "  case $previous in -o) output=$word ;; esac\n"
        "  previous=$word\n"
        "done\n"
        "case \"$*\" in\n"
        "  *--version*) echo pretender 1 ;;\n"
        "  *-shared*) cat '" +
        path(library) +
        "' >\"$output\" ;;\n"
        "  *) : >\"$output\" ;;\n"
        "esac\n");
  }
  Invocation compiler(const std::string& script) const {
    write("cxx", "#!/bin/sh\n" + script);
    fs::permissions(path("cxx"), fs::perms::owner_all);
    return {.environment = {{"RELAY_CXX", path("cxx")}}};
  }
  // A library of C, made by the compiler that tests are allowed to need.
  void make_library(const std::string& name, const std::string& text) const {
    write(name + ".c", text);
    const Ended made =
        run({.command = {"/usr/bin/gcc", "-shared", "-fPIC", "-o", name, name + ".c"}, .folder = path("")});
    if (made.exit_code != 0) throw std::runtime_error(made.err);
  }

  const std::vector<std::vector<std::string>> compiling_ = {
      {"compile", "m.relay", "-o", "x.so"},
      {"run", "m.relay", "--engine", "aot-cpp"},
      {"bench", "m.relay", "--engine", "aot-cpp", "--repeat", "1"},
      {"verify", "m.relay", "--engines", "aot-cpp"}};
};

TEST_F(Machine, WithoutACompilerTheRemedyIsNamed) {
  fs::create_directory(path("bin"));
  const Invocation nothing{.environment = {{"PATH", path("bin")}, {"RELAY_CXX", ""}}};
  for (const auto& arguments : compiling_) {
    refused(arguments, kUnsupported,
            {"[cannot-compile]", "no C++ compiler", "apt-get install g++", "relay doctor", "interp"},
            nothing);
  }
  works({"run", "m.relay"}, nothing);
  works({"run", "m.relay", "--engine", "jit"}, nothing);
  works({"run", "m.relay", "--engine", "graph"}, nothing);
  works({"compile", "m.relay", "--emit", "cpp"}, nothing);
  const Ended doctor = relay({"doctor"}, nothing);
  EXPECT_EQ(doctor.exit_code, kUnsupported);
  EXPECT_NE(doctor.out.find("BAD there is no C++ compiler"), std::string::npos) << doctor.out;
}

TEST_F(Machine, ACompilerThatIsNotThereIsNamed) {
  for (const auto& arguments : compiling_) {
    refused(arguments, kUnsupported, {"[cannot-compile]", "RELAY_CXX", "/nowhere/g++"},
            {.environment = {{"RELAY_CXX", "/nowhere/g++"}}});
  }
}

TEST_F(Machine, WhatAFailingCompilerSaysIsShown) {
  const Invocation broken =
      compiler("case \"$*\" in *--version*) ;; *) echo 'x.cc:1: error: out of ideas'; exit 1 ;; esac\n");
  for (const auto& arguments : compiling_)
    refused(arguments, kUnsupported,
            {"[cannot-compile]", path("cxx"), "out of ideas", "command: " + path("cxx") + " -std=c++17",
             " -c ", "reproducer: " + cache() + "/relay/rejected/"},
            broken);
}

TEST_F(Machine, WithoutAPlaceForAReproducerThatIsSaid) {
  Invocation broken =
      compiler("case \"$*\" in *--version*) ;; *) echo 'x.cc:1: error: out of ideas'; exit 1 ;; esac\n");
  broken.environment["XDG_CACHE_HOME"] = "/proc/nowhere";
  refused({"compile", "m.relay", "-o", "x.so"}, kUnsupported,
          {"out of ideas", "no reproducer was kept", "/proc/nowhere/relay/rejected"}, broken);
}

TEST_F(Machine, AnInterruptionLeavesNothing) {
  const std::string script =
      "case \"$*\" in *--version*) exit ;; esac\n"
      "case $TMPDIR in /*) : >\"$TMPDIR/of-the-compiler\" ;; esac\n"
      "sleep 60 &\n"
      "kill -SIGNAL $PPID\n"
      "sleep 60\n";
  const std::map<int, std::string> signals{{SIGINT, "INT"}, {SIGTERM, "TERM"}, {SIGHUP, "HUP"}};
  for (const auto& [number, name] : signals) {
    std::string text = script;
    text.replace(text.find("SIGNAL"), 6, name);
    const Invocation slow = compiler(text);
    const auto before = contents();
    for (const auto& arguments : compiling_) {
      // It holds the pipes of `relay` open while it runs: this would not end either.
      const Ended ended = relay(arguments, slow);
      EXPECT_EQ(ended.signal, number) << arguments[0] << ended.err;
      EXPECT_TRUE(fs::is_empty(temporary())) << arguments[0] << ": temporary files are left";
      EXPECT_EQ(contents(), before) << arguments[0];
    }
  }
}

TEST_F(Machine, ACompilerThatMakesNothingIsNoCrash) {
  const Invocation idle = compiler("exit 0\n");
  for (const auto& arguments : compiling_) refused(arguments, kUnsupported, {"[cannot-compile]"}, idle);
}

TEST_F(Machine, WithoutAPlaceForTemporaryFilesItsVariableIsNamed) {
  const Invocation nowhere{.environment = {{"TMPDIR", "/nowhere"}}};
  for (const auto& arguments : compiling_) {
    const Ended ended =
        refused(arguments, kLimit, {"[file-unwritable]", "temporary", "/nowhere", "TMPDIR"}, nowhere);
    EXPECT_NE(ended.err.find("No such file"), std::string::npos) << ended.err;
  }
}

TEST_F(Machine, WithoutNvccTheRemedyIsNamed) {
  const Invocation nothing{.environment = {{"RELAY_NVCC", path("nvcc")}}};
  refused({"compile", "m.relay", "--target", "cuda", "-o", "x.so"}, kUnsupported,
          {"[cannot-compile]", "RELAY_NVCC is", "cannot be run", "--emit cuda"}, nothing);
  refused({"run", "m.relay", "--engine", "aot-cuda", "--target", "cuda"}, kUnsupported, {"[cannot-compile]"},
          nothing);
}

// --- artifacts that are not what they should be --------------------------------------------------

TEST_F(Machine, ATextIsNoLibrary) {
  write("text", "not a library\n");
  const Invocation pretender = compiler_that_gives("text");
  refused({"run", "m.relay", "--engine", "aot-cpp"}, kUnsupported,
          {"[cannot-load]", "model.so", "cannot load"}, pretender);
}

TEST_F(Machine, ALibraryOfSomebodyElseIsNoArtifact) {
  make_library("other.so", "int answer(void) { return 42; }\n");
  const Invocation pretender = compiler_that_gives("other.so");
  refused({"run", "m.relay", "--engine", "aot-cpp"}, kUnsupported,
          {"[cannot-load]", "model.so", "no artifact of Relay's", "relay_get_api"}, pretender);
}

TEST_F(Machine, AnArtifactOfAnotherVersionIsNotRun) {
  make_library("other.so",
               "static const unsigned api[64] = {sizeof api, 999};\n"
               "const void* relay_get_api(void) { return api; }\n");
  const Invocation pretender = compiler_that_gives("other.so");
  refused({"run", "m.relay", "--engine", "aot-cpp"}, kUnsupported,
          {"[cannot-load]", "model.so", "ABI version 999", "needs 2", "compile the model again"}, pretender);
}

TEST_F(Machine, AnArtifactThatCannotBeOpenedSaysWhy) {
  make_library(
      "other.so",
      "#include <string.h>\n"
      "typedef struct { unsigned size, threads; const void *a, *b, *c, *d, *e; char* error; } options;\n"
      "static int open_model(options* o, void** model) {\n"
      "  strcpy(o->error, \"it lost its weights\");\n"
      "  *model = 0;\n"
      "  return 3;\n"
      "}\n"
      "static int close_model(void* model) { return model != 0; }\n"
      "static const struct { unsigned size, version; const void* functions[8]; } api = {\n"
      "    sizeof api, 2, {open_model, 0, close_model}};\n"
      "const void* relay_get_api(void) { return &api; }\n");
  const Invocation pretender = compiler_that_gives("other.so");
  refused({"run", "m.relay", "--engine", "aot-cpp"}, kUnsupported, {"[cannot-load]", "it lost its weights"},
          pretender);
}

TEST_F(Machine, ALibraryIsNoModelForCommandsThatCompile) {
  works({"compile", "m.relay", "-o", "x.so"});
  for (const std::string command : {"opt", "debug", "verify", "compile"})
    refused({command, "x.so"}, kUsage, {"x.so", "compiled already", "relay run"});
  refused({"import", "x.so", "-o", "y.relay"}, kUsage, {"x.so", "only .onnx models"});
}

}  // namespace
}  // namespace relay::tests
