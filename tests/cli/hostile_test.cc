// Names that try to leave the place where they are put, in every position that a name can have.
// Whatever Relay writes of such a program holds them in strings and comments alone: it compiles,
// parses and reads back, and runs nothing of theirs.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/escape.h"
#include "frontend/data/npy.h"
#include "frontend/onnx/testing.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// What the names say where they are no name. To a compiler it is a macro that ends
// every translation.
constexpr const char kInjected[] = "INJECTED";
constexpr const char kMacro[] = "-DINJECTED=@ # ) } ]";

// A name that is closed, continued or expanded by whatever closes, continues or expands something
// in some language. The first word tells positions apart.
std::string hostile(const std::string& position) {
  const std::string injected = kInjected;
  std::string out = position;
  for (const char* end : {" */ ",    " /* ", " // ", "\n",  "\r",     "\\\n", "?\?/\n", " \\\"); ", "\"); ",
                          "'); ",    "`); ", "}); ", "]=]", "-->",    " ${",  " $(",    " @{",      " %s%n ",
                          "\x1b]0;", "\x7f", " #",   "\n#", "\n*/\n", "\n;",  "\\"})
    out += end + injected;
  return out + " \xc3\xa9 \\";
}
// The same with bytes that are no text, and one that ends the strings of C.
std::string bytes(const std::string& position) { return hostile(position) + "\xff\xc3" + '\0' + kInjected; }

using Namer = std::function<std::string(const std::string&)>;

// The text with a name for each word between two `$`, and a string for each between two `&`.
std::string filled(const std::string& text, const Namer& n) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t mark = std::min(text.find_first_of("$&", at), text.size());
    out += text.substr(at, mark - at);
    if (mark == text.size()) break;
    const size_t end = text.find(text[mark], mark + 1);
    out += relay_quoted(n(text.substr(mark + 1, end - mark - 1)), text[mark] == '$' ? '`' : '"');
    at = end + 1;
  }
  return out;
}

// Static dataflow with a kernel of its own.
constexpr const char kPlan[] = R"(
kernel @$kernel$($in$: float32[$extent$]) -> ($out$: float32[$extent$]) {
  origin &origin&;
  temporary $temporary$: float32[$extent$];
  parallel $i$ in $extent$ {
    block $first$ {
      spatial $u$ in $extent$ = $i$;
      reads $in$[$u$];
      writes $temporary$[$u$];
      require ($in$[$u$] < 100f, &message&);
      $temporary$[$u$] = $in$[$u$] + 1f;
    }
  }
  for $j$ in $extent$ {
    block $block$ {
      spatial $v$ in $extent$ = $j$;
      reads $temporary$[$v$];
      writes $out$[$v$];
      $out$[$v$] = $temporary$[$v$] * 2f;
    }
  }
}
def @main(%$x$: Tensor[($dim$), float32], %$y$: Tensor[(2*$other$, 2), float32], input_names=[&port_x&, &port_y&],
          output_names=[&port_a&, &port_b&]) {
  let %$let$ = @$kernel$(%$x$);
  (%$let$, sum(nn.softmax(multiply(%$y$, %$y$)), axis=[1]))
}
)";

// A program over values: data types, closures, recursion, generic functions. Its second
// parameter is a list.
constexpr const char kValues[] = R"(
type $List$[$T$] { $Cons$($T$, $List$[$T$]), $Nil$ }
def @$map$[$A$](%$f$: fn($A$) -> $A$, %$l$: $List$[$A$]) -> $List$[$A$] {
  match (%$l$) { $Nil$ => $Nil$, $Cons$(%$h$, %$t$) => $Cons$(%$f$(%$h$), @$map$(%$f$, %$t$)) }
}
def @main(%$x$: Tensor[($dim$), float32], %$l$: $List$[Tensor[(), float32]]) {
  let %$closure$ = fn (%$p$: Tensor[(), float32]) { if (less(%$p$, 0f)) { %$p$ } else { add(%$p$, 1f) } };
  let %$maker$ = $Cons$;
  match (@$map$(%$closure$, %$l$)) {
    $Cons$(%$h$, %$t$) => match (%$maker$(%$h$, %$t$)) { $Cons$(%$again$, _) => add(%$x$, %$again$), $Nil$ => %$x$ },
    $Nil$ => %$x$
  }
}
)";

// The same kind of program over tensors alone.
constexpr const char kLoop[] = R"(
def @$loop$(%$n$: int32, %$x$: Tensor[($dim$), float32]) -> Tensor[($dim$), float32] {
  let %$closure$ = fn (%$p$: Tensor[($dim$), float32]) { if (equal(%$n$, 1)) { %$x$ } else { add(%$p$, %$x$) } };
  if (less_equal(%$n$, 0)) { %$closure$(%$x$) } else { @$loop$(subtract(%$n$, 1), %$closure$(%$x$)) }
}
def @main(%$x$: Tensor[($dim$), float32], %$count$: int32) { @$loop$(%$count$, multiply(%$x$, tensor([0.5], float32))) }
)";

class Hostile : public Cli {
 protected:
  // Relay's text again, and the same one.
  void reads_back(const std::string& file) const {
    works({"fmt", file});
    const std::string once = works({"opt", file});
    write("back.relay", once);
    EXPECT_EQ(works({"opt", "back.relay"}), once);
  }
  // No line of a text is what a name says.
  static void holds_names(const std::string& text) {
    for (size_t at = 0; (at = text.find(kInjected, at)) != std::string::npos; ++at)
      EXPECT_TRUE(at > 0 && text[at - 1] != '\n' && text[at - 1] != '\r') << text.substr(at, 200);
  }
  void runs(const Words& command, const std::string& prints = "") const {
    const Ended ended = run({.command = command, .folder = path("")});
    EXPECT_EQ(ended.exit_code, 0) << ended.err.substr(0, 4000);
    EXPECT_EQ(ended.out, prints);
  }
  void is_cpp(const std::string& file, const Words& more = {}) const {
    Words command{"/usr/bin/c++",  "-x",    "c++",     "-std=c++17", "-trigraphs", kMacro,
                  "-fsyntax-only", "-Wall", "-Wextra", "-I."};
    command.insert(command.end(), more.begin(), more.end());
    command.push_back(file);
    runs(command);
    holds_names(read(file));
  }
  // A header is C and C++, with trigraphs and without.
  void is_header(const std::string& file) const {
    runs({"/usr/bin/cc", "-x", "c", "-std=c99", "-pedantic", kMacro, "-fsyntax-only", "-Wall", "-Werror",
          file});
    runs({"/usr/bin/cc", "-x", "c", "-std=gnu11", kMacro, "-fsyntax-only", "-Wall", "-Werror", "-Wno-unused",
          file});
    runs({"/usr/bin/c++", "-x", "c++", "-std=c++17", kMacro, "-fsyntax-only", "-Wall", "-Werror", file});
    holds_names(read(file));
  }
  // Everything that is written of the program in the file.
  void compiles(const std::string& file) const {
    if (file.ends_with(".relay")) reads_back(file);
    works({"compile", file, "--emit", "header", "-o", "h.h"});
    is_header("h.h");
    works({"compile", file, "--emit", "cpp", "-o", "c.cc"});
    is_cpp("c.cc");
    works({"compile", file, "-O0", "--emit", "cpp", "--weights-file", "-o", "c.cc"});
    is_cpp("c.cc");
    for (const char* emit : {"kernel", "llvm"}) holds_names(works({"opt", "-O2", file, "--emit", emit}));
    works({"opt", "-O2", file, "--dump-dir", "dumped"});
    for (const auto& entry : fs::directory_iterator(path("dumped"))) works({"check", entry.path().string()});
    holds_names(works({"check", file}));
  }
};

TEST_F(Hostile, TheHeaderOfAnyShapeVariableRunsNothing) {
  // As it was found: the comment of the header showed types as they are.
  write("m.relay",
        "def @main(%x: Tensor[(`*/ __attribute__((constructor)) static void evil(void) { "
        "__builtin_puts(\"injected\"); } /*`), "
        "float32]) { sum(%x) }");
  works({"compile", "m.relay", "--emit", "package", "-o", "net"});
  write("main.c", "#include <stdio.h>\n#include \"net.h\"\nint main(void) { return puts(\"clean\") < 0; }\n");
  for (const Words& compiler :
       {Words{"/usr/bin/cc", "-std=c99", "-x", "c"}, Words{"/usr/bin/c++", "-x", "c++"}}) {
    Words command = compiler;
    command.insert(command.end(), {"-Inet/include", "main.c", "-o", "main"});
    runs(command);
    runs({path("main")}, "clean\n");
  }
}

TEST_F(Hostile, APlanHoldsItsNames) {
  write("m.relay", filled(kPlan, bytes));
  compiles("m.relay");
  works({"opt", "-O2", "m.relay", "--emit", "plan", "-o", "plan.txt"});
  holds_names(read("plan.txt"));
  EXPECT_NE(relay({"compile", "m.relay", "--emit", "graph", "-o", "g"}).exit_code, kInternal);
}

TEST_F(Hostile, ValuesHoldTheirNames) {
  write("m.relay", filled(kValues, bytes));
  compiles("m.relay");
  write("short.relay",
        filled(kValues, [](const std::string& position) { return cat(position.size(), position); }));
  compiles("short.relay");
  // Different names that look alike as identifiers.
  const std::string alike[] = {"a b", "a_b", "a-b", "a\nb", "a.b", "a*b", "a/b",
                               "a+b", "a|b", "a&b", "a<b",  "a>b", "a^b", "a~b"};
  std::map<std::string, size_t> numbers;
  write("alike.relay", filled(kValues, [&](const std::string& position) {
          return alike[numbers.emplace(position, numbers.size()).first->second % std::size(alike)];
        }));
  compiles("alike.relay");
}

TEST_F(Hostile, CudaHoldsItsNames) {
  // Extents are constants there.
  std::string plan = kPlan;
  for (const auto& [extent, number] : {std::pair("$dim$", "8"), std::pair("$other$", "4")})
    plan.replace(plan.find(extent), std::string(extent).size(), number);
  write("plan.relay", filled(plan, bytes));
  write("values.relay", filled(kLoop, bytes));
  fs::copy_file(of_checkout("aot/cuda_emulation.h"), path("cuda_emulation.h"));
  for (const char* file : {"plan.relay", "values.relay"}) {
    works({"compile", file, "--emit", "cuda", "--target", "cuda:sm_90", "-o", "c.cu"});
    is_cpp("c.cu", {"-DRELAY_CUDA_EMULATION"});
  }
}

TEST_F(Hostile, DescriptionsSayTheNames) {
  write("m.relay", filled(kPlan, hostile));
  const Json d = Json::parse(works({"compile", "m.relay", "-O1", "-o", "m.so", "--json"}));
  EXPECT_EQ(d["inputs"][0]["name"], hostile("port_x"));
  EXPECT_EQ(d["inputs"][1]["name"], hostile("port_y"));
  EXPECT_EQ(d["outputs"][1]["name"], hostile("port_b"));
  EXPECT_EQ(d["inputs"][0]["dims"][0], hostile("dim"));
  is_header("m.h");
  write("v.relay", filled(kValues, hostile));
  const Json v = Json::parse(works({"compile", "v.relay", "-O1", "-o", "v.so", "--json"}));
  EXPECT_EQ(v["parameters"][1]["name"], hostile("l"));
  bool found = false;
  for (const Json& type : v["types"])
    found |= type["kind"] == "data" && type["constructors"][0]["name"] == hostile("Cons");
  EXPECT_TRUE(found) << v.dump();
  is_header("v.h");
  // What is no text is replaced.
  write("b.relay", filled(kPlan, bytes));
  const std::string replaced = hostile("port_x") + "\xef\xbf\xbd\xef\xbf\xbd" + '\0' + kInjected;
  const Json checked = Json::parse(works({"check", "b.relay", "--json"}));
  EXPECT_EQ(checked["inputs"][0]["name"], replaced) << checked.dump();
}

TEST_F(Hostile, AProgramOfItsOwnTellsATerminalNothing) {
  write("m.relay", filled(kLoop, bytes));
  write("licence", hostile("licence"));
  const std::string exe = "exe " + bytes("").substr(1, 90);
  std::string file = exe;
  std::replace(file.begin(), file.end(), '/', '|');
  works({"compile", "m.relay", "-O0", "--emit", "exe", "--weights-file", "-o", file, "--licence", "licence"});
  const auto of_program = [&](const Words& arguments) {
    Words command{path(file)};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run({.command = command, .folder = path("")});
  };
  const Ended described = of_program({"--describe"});
  EXPECT_EQ(Json::parse(described.out)["licence"], hostile("licence"));
  const Ended help = of_program({"--help"});
  EXPECT_EQ(help.exit_code, 0) << help.err;
  for (char control : {'\x1b', '\r', '\x7f'}) {
    EXPECT_EQ(help.out.find(control, help.out.find("input ")), std::string::npos) << help.out;
    const Ended wrong = of_program({});
    EXPECT_NE(wrong.exit_code, 0);
    EXPECT_EQ(wrong.err.find(control, wrong.err.find("input ")), std::string::npos) << wrong.err;
  }
}

TEST_F(Hostile, FilesMayBeCalledAnything) {
  write("m.relay",
        "def @main(%x: Tensor[(2, 64), float32]) { nn.dense(%x, full(0.5f, shape=[64, 64], "
        "dtype=\"float32\")) }");
  // No file name has a slash.
  std::string file = bytes("file").substr(0, 200);
  std::replace(file.begin(), file.end(), '/', '|');
  for (const Words& more : {Words{}, Words{"--weights-file"}}) {
    Words command{"compile", "m.relay", "--emit", "cpp", "-o", file + ".cc"};
    command.insert(command.end(), more.begin(), more.end());
    works(command);
    // The assembler reads the weights from a file beside it.
    runs({"/usr/bin/c++", "-std=c++17", "-trigraphs", kMacro, "-shared", "-fPIC", file + ".cc", "-o",
          "source.so"});
  }
  works({"compile", "m.relay", "-O0", "--weights-file", "-o", file + ".so"});
  EXPECT_TRUE(exists(file + ".safetensors"));
  is_header(file + ".h");
}

// A model whose texts are hostile; its first extent is a dim of that name, or 2.
frontend::TestModel model_of_onnx(bool has_dim) {
  frontend::TestModel model;
  model.input(hostile("x"), {has_dim ? frontend::TestDim(hostile("batch")) : frontend::TestDim(2), 4})
      .floats(hostile("w"), {4, 4}, 1)
      .ints(hostile("shape"), {0, 2, 2})
      .node("MatMul", {hostile("x"), hostile("w")}, {hostile("h")});
  model.last->set_name(hostile("node"));
  model.last->set_doc_string(hostile("doc"));
  model.node("Reshape", {hostile("h"), hostile("shape")}, {hostile("y")}).output(hostile("y"));
  model.graph->set_name(hostile("graph"));
  model.proto.set_producer_name(hostile("producer"));
  model.proto.set_domain(hostile("domain"));
  return model;
}

TEST_F(Hostile, AModelOfOnnxHoldsItsNames) {
  frontend::TestModel model = model_of_onnx(true);
  write("m.onnx", model.bytes());
  works({"import", "m.onnx", "-o", "m.relay"});
  reads_back("m.relay");
  compiles("m.onnx");
  const Json d = Json::parse(works({"compile", "m.onnx", "-O0", "-o", "m.so", "--json"}));
  EXPECT_EQ(d["inputs"][0]["name"], hostile("x"));
  EXPECT_EQ(d["outputs"][0]["name"], hostile("y"));
  // What no operator is called is named in a message.
  model.last->set_op_type(hostile("Op"));
  model.last->set_domain(hostile("domain"));
  write("unknown.onnx", model.bytes());
  const Ended refused = relay({"check", "unknown.onnx"});
  EXPECT_EQ(refused.exit_code, kUnsupported);
  holds_names(refused.err);
}

TEST_F(Hostile, AGraphSaysTheNames) {
  write("m.onnx", model_of_onnx(false).bytes());
  works({"compile", "m.onnx", "--emit", "graph", "-o", "g"});
  EXPECT_EQ(Json::parse(read("g/graph.json"))["nodes"][0]["name"], hostile("x"));
  holds_names(works({"graph", "g"}));
  compiles("g");
  const Json d = Json::parse(works({"check", "g", "--json"}));
  EXPECT_EQ(d["inputs"][0]["name"], hostile("x"));
}

TEST_F(Hostile, CFunctionsAreCalledWhatCAllows) {
  write("m.relay", filled(R"(
extern kernel @$kernel$($x$: float32[$n$]) -> ($y$: float32[$n$]) symbol "operator_of";
def @main(%$x$: Tensor[($m$), float32]) { @$kernel$(%$x$) }
)",
                          bytes));
  compiles("m.relay");
  write("bad.relay", filled(R"(
extern kernel @k(x: float32[n]) -> (y: float32[n]) symbol &f&;
def @main(%x: Tensor[(n), float32]) { @k(%x) }
)",
                            bytes));
  EXPECT_EQ(relay({"check", "bad.relay"}).exit_code, kBadModel);
}

}  // namespace
}  // namespace relay::tests
