// Runs a model that `relay compile` made from C++: one model, a context for each thread,
// errors as exceptions.
//
//   relay compile examples/models/mnist_8/model.onnx -o mnist.so
//   c++ -std=c++17 -pthread -I . examples/deploy/deploy.cc ./mnist.so -o deploy
//   ./deploy examples/models/mnist_8/digits/images.npy 0 7 12
//
// The numbers are those of the images: ten are zeros, the next ten are ones, and so on. The program
// prints the digit that the model sees on each of them.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "mnist.h"

namespace {

constexpr size_t kPixels = 28 * 28, kDigits = 10;

class Model {
 public:
  Model() {
    if (relay_abi_version() != RELAY_ABI_VERSION) throw std::runtime_error("the library is not the header's");
    char error[256];
    relay_open_options options = {};
    options.struct_size = sizeof options;
    options.threads = 1;  // of each run: the runs themselves are side by side
    options.error = error;
    options.error_size = sizeof error;
    if (relay_model_open(&options, &model_) != RELAY_OK) throw std::runtime_error(error);
  }
  ~Model() { relay_model_close(model_); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  relay_model* get() const { return model_; }

 private:
  relay_model* model_ = nullptr;
};

// The elements stay where they are; `shape` must outlive the tensor.
DLTensor tensor(float* data, std::vector<int64_t>& shape) {
  DLTensor t = {};
  t.data = data;
  t.device = {kDLCPU, 0};
  t.ndim = static_cast<int32_t>(shape.size());
  t.dtype = {kDLFloat, 32, 1};
  t.shape = shape.data();
  return t;
}

// What one thread runs a model with.
class Context {
 public:
  explicit Context(const Model& model) {
    relay_context* made = nullptr;
    if (relay_context_create(model.get(), &made) != RELAY_OK)
      throw std::runtime_error("there is not enough memory");
    context_.reset(made);
    relay_set_timeout(made, 10'000'000'000);
  }
  std::vector<float> scores(std::vector<float> pixels) {
    std::vector<float> out(kDigits);
    std::vector<int64_t> in_shape = {1, 1, 28, 28}, out_shape = {1, kDigits};
    const DLTensor input = tensor(pixels.data(), in_shape);
    DLTensor output = tensor(out.data(), out_shape);
    const DLTensor* inputs[] = {&input};
    DLTensor* outputs[] = {&output};
    if (relay_run(context_.get(), inputs, 1, outputs, 1) != RELAY_OK)
      throw std::runtime_error(relay_error(context_.get()));
    return out;
  }

 private:
  struct Free {
    void operator()(relay_context* c) const { relay_context_free(c); }
  };
  std::unique_ptr<relay_context, Free> context_;
};

// The images of a .npy file of bytes, version 1 of the format: each of 28 x 28.
std::vector<std::vector<float>> read_images(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.size() < 10 || bytes.compare(0, 7, "\x93NUMPY\x01") != 0)
    throw std::runtime_error(path + ": no .npy file");
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  std::vector<std::vector<float>> out;
  for (size_t at = 10 + byte(8) + 256u * byte(9); at + kPixels <= bytes.size(); at += kPixels) {
    out.emplace_back();
    for (size_t i = 0; i < kPixels; ++i) out.back().push_back(byte(at + i));
  }
  return out;
}

int run(const std::vector<std::string>& arguments) {
  const std::vector<std::vector<float>> images = read_images(arguments.at(0));
  const Model model;
  std::vector<std::string> answers(arguments.size());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < arguments.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        const std::vector<float> scores = Context(model).scores(images.at(std::stoul(arguments[i])));
        answers[i] = std::to_string(std::max_element(scores.begin(), scores.end()) - scores.begin());
      } catch (const std::exception& e) {
        answers[i] = std::string("failed: ") + e.what();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  bool failed = false;
  for (size_t i = 1; i < answers.size(); ++i) {
    std::cout << answers[i] << "\n";
    failed |= answers[i].find("failed") == 0;
  }
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: " << argv[0] << " images.npy NUMBER...\n";
    return 2;
  }
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::cerr << argv[0] << ": " << e.what() << "\n";
    return 3;
  }
}
