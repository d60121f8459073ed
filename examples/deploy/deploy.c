/* Runs a model that `relay compile` made, with nothing but its header and its library.
 *
 *   relay compile examples/models/mnist_8/model.onnx -o mnist.so
 *   cc -I . examples/deploy/deploy.c ./mnist.so -o deploy
 *   ./deploy examples/models/mnist_8/digits/images.npy 7
 *
 * With CMake: CMakeLists.txt, which stands beside this file.
 *
 * The second argument is the number of the image: ten are zeros, the next ten are ones, and so on. The program prints the digit
 * that the model sees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mnist.h"

enum { kSide = 28, kPixels = kSide * kSide, kDigits = 10 };

/* The pixels of one image of a .npy file of bytes, shape (count, 1, 28, 28) or alike; 0 if that is not there. */
static int read_image(const char* path, long number, float* pixels) {
  unsigned char head[10], bytes[kPixels];
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    return 0;
  }
  /* Version 1 of the format: a magic, two bytes of version, the length of a header, the header, the elements. */
  int ok = fread(head, 1, sizeof head, file) == sizeof head && memcmp(head, "\x93NUMPY\x01", 7) == 0;
  if (ok) {
    const long start = (long)sizeof head + head[8] + 256L * head[9];
    ok = fseek(file, start + number * kPixels, SEEK_SET) == 0 && fread(bytes, 1, kPixels, file) == kPixels;
  }
  fclose(file);
  if (!ok) fprintf(stderr, "%s: has no image %ld of 28 x 28 bytes\n", path, number);
  for (int i = 0; ok && i < kPixels; ++i) pixels[i] = bytes[i];
  return ok;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s images.npy NUMBER\n", argv[0]);
    return 2;
  }
  static float pixels[kPixels];
  float scores[kDigits];
  if (!read_image(argv[1], atol(argv[2]), pixels)) return 3;

  char error[256] = "the library is of another version than its header";
  relay_open_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.threads = 1;
  options.error = error;
  options.error_size = sizeof error;
  relay_model* model;
  if (relay_abi_version() != RELAY_ABI_VERSION || relay_model_open(&options, &model) != RELAY_OK) {
    fprintf(stderr, "cannot open the model: %s\n", error);
    return 3;
  }
  relay_context* context;
  if (relay_context_create(model, &context) != RELAY_OK) {
    fprintf(stderr, "there is not enough memory for the model\n");
    return 5;
  }

  int64_t input_shape[] = {1, 1, kSide, kSide}, output_shape[] = {1, kDigits};
  DLTensor input, output;
  memset(&input, 0, sizeof input);
  input.data = pixels;
  input.device.device_type = kDLCPU;
  input.ndim = 4;
  input.dtype.code = kDLFloat;
  input.dtype.bits = 32;
  input.dtype.lanes = 1;
  input.shape = input_shape;
  output = input;
  output.data = scores;
  output.ndim = 2;
  output.shape = output_shape;
  const DLTensor* inputs[] = {&input};
  DLTensor* outputs[] = {&output};
  if (relay_run(context, inputs, 1, outputs, 1) != RELAY_OK) {
    fprintf(stderr, "the run failed: %s\n", relay_error(context));
    return 1;
  }
  int best = 0;
  for (int i = 1; i < kDigits; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  printf("%d\n", best);
  relay_context_free(context);
  relay_model_close(model);
  return 0;
}
