// A model that is a program of its own: arrays from files in, arrays to files or as text out. Part
// of what `relay compile --emit exe` makes, behind the C interface (see interface.cc), which it
// uses as any other program would.

#include <getopt.h>

namespace {

constexpr char kUsage[] =
    "usage: %s [OPTION]... [INPUT.npy | NAME=INPUT.npy]...\n"
    "Runs the model that this program was made of, which `relay compile` did.\n\n"
    "  -o, --output [NAME=]FILE   write an output to a .npy file: the next one, or the one that is named;\n"
    "                             what is not written is printed\n"
    "      --threads N            threads of the run; 0, as without it: what `relay compile --threads` said\n"
    "      --denormals flush|keep tiny numbers: take them for 0, or compute with them; otherwise as\n"
    "                             `relay compile --denormals` said\n"
    "      --timeout SECONDS      give up after so long\n"
    "%s"
    "      --describe             print what the model is, as JSON, and end\n"
    "  -h, --help                 print this, and end\n\n"
    "It ends with 0, or with 1: the model failed (a division by zero); 2: an argument or an input is wrong;\n"
    "3: the weights are; 4: this processor lacks something; 5: memory, time or room for an output ran out.\n";
#ifdef RELAY_WEIGHTS_FILE
constexpr char kWeightsUsage[] =
    "      --weights FILE         the weights, otherwise " RELAY_WEIGHTS_FILE " beside this program\n";
#else
constexpr char kWeightsUsage[] = "";
#endif

const char* program = "model";

// Names are the model's, and a terminal would obey their control characters.
void put_text(FILE* to, const char* text) {
  for (; *text != 0; ++text) {
    const auto byte = static_cast<unsigned char>(*text);
    if (byte < 0x20 || byte == 0x7f) {
      fprintf(to, "\\x%02x", byte);
    } else {
      fputc(byte, to);
    }
  }
}

__attribute__((format(printf, 2, 3))) int fails(int code, const char* format, ...) {
  char message[8192];  // room for a path and a name
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  fprintf(stderr, "%s: ", program);
  put_text(stderr, message);
  fputc('\n', stderr);
  return code;
}

// The exit code of `relay` for a status (docs/command-line.md).
int exit_code(relay_status status) {
  return status == RELAY_TIMED_OUT ? RELAY_LIMIT : static_cast<int>(status);
}

void print_ports(const char* role, const Port* ports, size_t count) {
  int64_t variables[kVariableCount + 1];
  for (int64_t& v : variables) v = kUnknown;
  for (size_t i = 0; i < count; ++i) {
    char shape[256];
    show_wanted(shape, sizeof shape, ports[i], variables);
    printf("%s ", role);
    put_text(stdout, ports[i].name);
    printf(": %s ", ports[i].dtype_name);
    put_text(stdout, shape);
    putchar('\n');
  }
}

int help() {
  printf(kUsage, program, kWeightsUsage);
  putchar('\n');
  print_ports("input", kInputs, kInputCount);
  print_ports("output", kOutputs, kOutputCount);
  return RELAY_OK;
}

// Files for the ports: the next one, or the one that "NAME=" in front of the file names.
bool assign(const Port* ports, size_t count, const char** files, const char* role, const char* word) {
  size_t i = 0;
  const char* file = word;
  for (size_t p = 0; file == word && p < count; ++p) {
    const size_t size = strlen(ports[p].name);
    if (strncmp(word, ports[p].name, size) == 0 && word[size] == '=') i = p, file = word + size + 1;
  }
  if (file == word) {
    while (i < count && files[i] != nullptr) ++i;
  }
  if (i < count && files[i] == nullptr) return files[i] = file, true;
  if (i < count) {
    fails(RELAY_USAGE, "%s `%s` is given twice, by %s and %s", role, ports[i].name, files[i], file);
  } else {
    fails(RELAY_USAGE, "the model has %zu %s%s, so there is none for %s", count, role, count == 1 ? "" : "s",
          word);
  }
  return false;
}

double half(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  double value = exponent == 0 ? fraction / 1024 / 16384 : 1 + fraction / 1024;
  for (int e = 15; exponent != 0 && e < exponent; ++e) value *= 2;
  for (int e = exponent; exponent != 0 && e < 15; ++e) value /= 2;
  if (exponent == 31) value = fraction != 0 ? __builtin_nan("") : __builtin_inf();
  return bits >> 15 ? -value : value;
}

template <class T>
T element(const void* data, uint64_t i) {
  T value;
  memcpy(&value, static_cast<const unsigned char*>(data) + i * sizeof value, sizeof value);
  return value;
}

void print_element(const DLTensor& t, uint64_t i) {
  const int bits = t.dtype.bits;
  if (t.dtype.code == kDLFloat) {
    const double value = bits == 64   ? element<double>(t.data, i)
                         : bits == 32 ? static_cast<double>(element<float>(t.data, i))
                                      : half(element<uint16_t>(t.data, i));
    printf("%.*g", bits == 64 ? 17 : bits == 32 ? 9 : 5, value);
  } else if (t.dtype.code == kDLInt) {
    const int64_t value = bits == 64   ? element<int64_t>(t.data, i)
                          : bits == 32 ? element<int32_t>(t.data, i)
                          : bits == 16 ? element<int16_t>(t.data, i)
                                       : element<int8_t>(t.data, i);
    printf("%lld", static_cast<long long>(value));
  } else {
    const uint64_t value = bits == 64   ? element<uint64_t>(t.data, i)
                           : bits == 32 ? element<uint32_t>(t.data, i)
                           : bits == 16 ? element<uint16_t>(t.data, i)
                                        : element<uint8_t>(t.data, i);
    printf("%llu", static_cast<unsigned long long>(value));
  }
}

// The innermost dimension makes a line.
void print_tensor(const Port& port, const DLTensor& t) {
  char shape[256];
  show_shape(shape, sizeof shape, t.shape, t.ndim);
  put_text(stdout, port.name);
  printf(": %s %s\n", port.dtype_name, shape);
  uint64_t count = 1;
  for (int32_t d = 0; d < t.ndim; ++d) count *= static_cast<uint64_t>(t.shape[d]);
  const uint64_t line = t.ndim > 0 && count > 0 ? static_cast<uint64_t>(t.shape[t.ndim - 1]) : 1;
  for (uint64_t i = 0; i < count; ++i) {
    print_element(t, i);
    putchar((i + 1) % line == 0 ? '\n' : ' ');
  }
}

int write_output(const char* path, const Port& port, const DLTensor& t) {
  FILE* file = fopen(path, "wb");
  if (file == nullptr) return fails(RELAY_LIMIT, "cannot write %s: %s", path, strerror(errno));
  const bool written = write_array(file, t);
  if (fclose(file) != 0 || !written)
    return fails(RELAY_LIMIT, "output `%s` did not get to %s: %s", port.name, path, strerror(errno));
  return RELAY_OK;
}

int read_input(const char* path, const Port& port, Array* array) {
  if (path == nullptr)
    return fails(RELAY_USAGE, "there is no file for input `%s`: --help lists the inputs", port.name);
  FILE* file = fopen(path, "rb");
  if (file == nullptr) return fails(RELAY_USAGE, "cannot read %s: %s", path, strerror(errno));
  const char* wrong = read_array(file, array);
  fclose(file);
  return wrong != nullptr ? fails(RELAY_USAGE, "cannot read %s: %s", path, wrong) : RELAY_OK;
}

// A whole number, or one with a fraction, that is at least 0 and not more than `most`.
bool number(const char* text, double most, double* value) {
  char* end;
  *value = strtod(text, &end);
  return end != text && *end == 0 && *value >= 0 && *value <= most;
}

struct Arguments {
  const char* inputs[kInputCount + 1] = {};
  const char* outputs[kOutputCount + 1] = {};
  const char* weights = nullptr;
  double threads = 0, timeout = 0;
  relay_denormals denormals = RELAY_DENORMALS_AS_COMPILED;
};

// Negative: go on; else the program ends with that.
int read_arguments(int argc, char** argv, Arguments* a) {
  static const option kOptions[] = {{"output", required_argument, nullptr, 'o'},
                                    {"threads", required_argument, nullptr, 't'},
                                    {"denormals", required_argument, nullptr, 'n'},
                                    {"timeout", required_argument, nullptr, 'l'},
#ifdef RELAY_WEIGHTS_FILE
                                    {"weights", required_argument, nullptr, 'w'},
#endif
                                    {"describe", no_argument, nullptr, 'd'},
                                    {"help", no_argument, nullptr, 'h'},
                                    {nullptr, 0, nullptr, 0}};
  for (int c; (c = getopt_long(argc, argv, "o:h", kOptions, nullptr)) != -1;) {
    switch (c) {
      case 'o':
        if (!assign(kOutputs, kOutputCount, a->outputs, "output", optarg)) return RELAY_USAGE;
        break;
      case 't':
        if (!number(optarg, kMostRunThreads, &a->threads) || a->threads != static_cast<unsigned>(a->threads))
          return fails(RELAY_USAGE, "--threads: %s is no number from 0 to %u", optarg, kMostRunThreads);
        break;
      case 'n':
        if (strcmp(optarg, "flush") != 0 && strcmp(optarg, "keep") != 0)
          return fails(RELAY_USAGE, "--denormals: %s is neither flush nor keep", optarg);
        a->denormals = optarg[0] == 'k' ? RELAY_DENORMALS_KEEP : RELAY_DENORMALS_FLUSH;
        break;
      case 'l':
        if (!number(optarg, 1e9, &a->timeout))
          return fails(RELAY_USAGE, "--timeout: %s is no number of seconds", optarg);
        break;
      case 'w': a->weights = optarg; break;
      case 'd': puts(kDescription); return RELAY_OK;
      case 'h': return help();
      default: fprintf(stderr, "`%s --help` lists the options\n", program); return RELAY_USAGE;
    }
  }
  for (; optind < argc; ++optind) {
    if (!assign(kInputs, kInputCount, a->inputs, "input", argv[optind])) return RELAY_USAGE;
  }
  return -1;
}

int run_model(relay_context* context, const Arguments& a) {
  static Array arrays[kInputCount + 1];  // half a KiB each: a stack has no room for 20000
  const DLTensor* in[kInputCount + 1];
  DLTensor results[kOutputCount + 1];
  DLTensor* out[kOutputCount + 1];
  int code = RELAY_OK;
  for (size_t i = 0; i < kInputCount && code == RELAY_OK; ++i) {
    code = read_input(a.inputs[i], kInputs[i], &arrays[i]);
    in[i] = &arrays[i].tensor;
  }
  for (size_t i = 0; i < kOutputCount; ++i) {
    results[i].data = nullptr;
    out[i] = &results[i];
  }
  if (code == RELAY_OK) {
    relay_set_timeout(context, static_cast<int64_t>(a.timeout * 1e9));
    const relay_status status = relay_run(context, in, kInputCount, out, kOutputCount);
    if (status != RELAY_OK) code = fails(exit_code(status), "%s", relay_error(context));
  }
  for (size_t i = 0; i < kOutputCount && code == RELAY_OK; ++i) {
    if (a.outputs[i] != nullptr) {
      code = write_output(a.outputs[i], kOutputs[i], results[i]);
    } else {
      print_tensor(kOutputs[i], results[i]);
    }
  }
  for (size_t i = 0; i < kInputCount; ++i) free(arrays[i].tensor.data);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 0) program = argv[0];
  static Arguments arguments;
  int code = read_arguments(argc, argv, &arguments);
  if (code < 0) {
    char error[kErrorSize];
    relay_open_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.threads = static_cast<uint32_t>(arguments.threads);
    options.weights_path = arguments.weights;
    options.denormals = arguments.denormals;
    options.error = error;
    options.error_size = sizeof error;
    relay_model* model = nullptr;
    relay_context* context = nullptr;
    relay_status status = relay_model_open(&options, &model);
    if (status != RELAY_OK) return fails(exit_code(status), "%s", error);
    status = relay_context_create(model, &context);
    code = status == RELAY_OK ? run_model(context, arguments)
                              : fails(exit_code(status), "there is not enough memory for the model");
    relay_context_free(context);
    relay_model_close(model);
  }
  if (fflush(stdout) != 0 && code == RELAY_OK)
    code = fails(RELAY_LIMIT, "cannot write to standard output: %s", strerror(errno));
  return code;
}
