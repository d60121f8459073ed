// Reads a model, compiles it in this process and runs it on zeros: embed MODEL [ENGINE]
#include <cstdio>

#include "driver/driver.h"
#include "interp/machine.h"

using namespace relay;

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: embed MODEL [ENGINE]\n"), 2;
  driver::LoadOptions load;
  Diagnostics diagnostics;
  const auto fail = [&] {
    std::fputs(diagnostics.render(load.into.context().sources()).c_str(), stderr);
    return 1;
  };
  const Result<driver::Model> model = driver::load(argv[1], load, diagnostics);
  if (!model) return fail();

  std::vector<Value> args;
  for (const Var* input : model->entry().params) {
    const auto* type = input->type->as<TensorType>();
    const auto shape = type ? type->static_shape() : std::nullopt;
    if (!shape) return std::fprintf(stderr, "an input is no tensor of constant shape\n"), 1;
    args.push_back(Value(Tensor(type->dtype, *shape)));
  }
  const auto program = driver::prepare(*model, argc > 2 ? argv[2] : "jit", {}, diagnostics);
  if (!program) return fail();
  const driver::Outcome outcome = program->run(args);
  if (outcome.kind != driver::Outcome::Kind::kValue)
    return std::fprintf(stderr, "%s\n", outcome.message.c_str()), 1;
  for (const auto& [name, tensor] : driver::name_outputs(*model, outcome.value))
    std::printf("%s = %s\n", name.c_str(), interp::show(Value(tensor)).c_str());
  return 0;
}
