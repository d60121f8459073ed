// NumPy's files of one array, as a model that is a program of its own reads and writes
// them (see main.cc).

#include <ctype.h>

namespace {

struct NpyType {
  const char* descr;  // without the byte order
  uint8_t code, bits;
};
constexpr NpyType kNpyTypes[] = {{"b1", kDLBool, 8},   {"i1", kDLInt, 8},    {"i2", kDLInt, 16},
                                 {"i4", kDLInt, 32},   {"i8", kDLInt, 64},   {"u1", kDLUInt, 8},
                                 {"u2", kDLUInt, 16},  {"u4", kDLUInt, 32},  {"u8", kDLUInt, 64},
                                 {"f2", kDLFloat, 16}, {"f4", kDLFloat, 32}, {"f8", kDLFloat, 64}};

// An array that was read. Its memory comes from the C library.
struct Array {
  static constexpr int32_t kMostRank = 64;  // NumPy's own limit
  DLTensor tensor;
  int64_t shape[kMostRank];
};

// The header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class NpyHeader {
 public:
  NpyHeader(char* text, size_t size) : at_(text), end_(text + size) {}

  // Null, or what is wrong. Sets dtype and shape.
  const char* read(Array* array) {
    bool in_columns = false;
    int seen = 0;
    if (!take('{')) return "its header is no dictionary";
    while (!take('}')) {
      char key[16];
      if (!string(key, sizeof key) || !take(':')) return "its header cannot be read";
      const int which = strcmp(key, "descr") == 0           ? 1
                        : strcmp(key, "fortran_order") == 0 ? 2
                        : strcmp(key, "shape") == 0         ? 4
                                                            : 0;
      if (which == 0 || (seen & which) != 0) return "its header has a key that is unknown or there twice";
      seen |= which;
      const char* wrong = which == 1   ? dtype(&array->tensor.dtype)
                          : which == 2 ? order(&in_columns)
                                       : shape(array);
      if (wrong != nullptr) return wrong;
      if (!take(',') && (at_ == end_ || *at_ != '}')) return "its header cannot be read";
    }
    if (seen != 7) return "its header needs `descr`, `fortran_order` and `shape`";
    if (in_columns && array->tensor.ndim > 1)
      return "it is stored column by column: save numpy.ascontiguousarray of it";
    return nullptr;
  }

 private:
  bool take(char c) {
    while (at_ < end_ && isspace(static_cast<unsigned char>(*at_))) ++at_;
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    while (at_ < end_ && isspace(static_cast<unsigned char>(*at_))) ++at_;
    return true;
  }
  bool take(const char* word) {
    const size_t size = strlen(word);
    if (static_cast<size_t>(end_ - at_) < size || memcmp(at_, word, size) != 0) return false;
    at_ += size;
    return true;
  }
  bool string(char* to, size_t room) {
    if (at_ == end_ || (*at_ != '\'' && *at_ != '"')) return false;
    const char quote = *at_++;
    size_t size = 0;
    for (; at_ < end_ && *at_ != quote; ++at_) {
      if (size + 1 == room) return false;
      to[size++] = *at_;
    }
    to[size] = 0;
    return take(quote);
  }

  const char* dtype(DLDataType* to) {
    char descr[16];
    if (!string(descr, sizeof descr) || strlen(descr) != 3) return "its elements are no numbers";
    for (const NpyType& type : kNpyTypes) {
      if (strcmp(type.descr, descr + 1) != 0) continue;
      if (strchr(type.bits > 8 ? "<=" : "<>=|", descr[0]) == nullptr)
        return "the bytes of its numbers stand in the other order: save x.astype(x.dtype.newbyteorder('<'))";
      *to = {type.code, type.bits, 1};
      return nullptr;
    }
    return "its elements are no booleans, integers or floats";
  }
  const char* order(bool* in_columns) {
    *in_columns = take("True");
    return *in_columns || take("False") ? nullptr : "`fortran_order` of its header is neither True nor False";
  }
  const char* shape(Array* array) {
    if (!take('(')) return "`shape` of its header is no tuple";
    for (array->tensor.ndim = 0; !take(')');) {
      if (array->tensor.ndim == Array::kMostRank) return "it has more than 64 dimensions";
      int64_t extent = 0;
      if (at_ == end_ || *at_ < '0' || *at_ > '9') return "`shape` of its header cannot be read";
      for (; at_ < end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
        if (__builtin_mul_overflow(extent, 10, &extent) ||
            __builtin_add_overflow(extent, *at_ - '0', &extent))
          return "an extent is larger than there can be";
      }
      array->shape[array->tensor.ndim++] = extent;
      if (!take(',') && (at_ == end_ || *at_ != ')')) return "`shape` of its header cannot be read";
    }
    array->tensor.shape = array->shape;
    return nullptr;
  }

  const char *at_, *end_;
};

// Null, or what is wrong.
const char* read_array(FILE* file, Array* array) {
  unsigned char head[12];
  memset(array, 0, sizeof *array);
  if (fread(head, 1, 10, file) != 10 || memcmp(head, "\x93NUMPY", 6) != 0) return "it is no .npy file";
  if (head[6] < 1 || head[6] > 3) return "it is of a version of the format that is unknown";
  size_t size = head[8] + 256u * head[9];
  if (head[6] > 1) {
    if (fread(head + 10, 1, 2, file) != 2) return "it is cut short";
    size += 65536u * head[10] + 16777216u * head[11];
  }
  static char text[65536];
  if (size > sizeof text) return "its header is longer than 64 KiB";
  if (fread(text, 1, size, file) != size) return "it is cut short";
  if (const char* wrong = NpyHeader(text, size).read(array)) return wrong;
  size_t bytes;
  if (!count_bytes(array->tensor.dtype.bits / 8, static_cast<uint32_t>(array->tensor.ndim), array->shape,
                   &bytes))
    return "it has more bytes than there can be";
  // A header can say anything: memory is taken for what is there.
  struct stat about;
  const long start = ftell(file);
  if (fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode) && start >= 0 &&
      static_cast<uint64_t>(about.st_size) - static_cast<uint64_t>(start) < bytes)
    return "it is cut short";
  array->tensor.device.device_type = kDLCPU;
  array->tensor.data = c_allocate(nullptr, bytes > 0 ? bytes : 1, kAlignment);
  if (array->tensor.data == nullptr) return "there is not enough memory for it";
  if (fread(array->tensor.data, 1, bytes, file) != bytes) return "it is cut short";
  if (fgetc(file) != EOF) return "it goes on behind its elements";
  return nullptr;
}

// False if not all of it could be written.
bool write_array(FILE* file, const DLTensor& t) {
  const char* descr = nullptr;
  for (const NpyType& type : kNpyTypes) {
    if (type.code == t.dtype.code && type.bits == t.dtype.bits) descr = type.descr;
  }
  if (descr == nullptr) return false;
  char text[4096];
  int size = snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                      t.dtype.bits > 8 ? '<' : '|', descr);
  // At most 64 extents of 19 digits: there is room.
  for (int32_t d = 0; d < t.ndim; ++d) {
    size += snprintf(text + size, sizeof text - static_cast<size_t>(size),
                     d == 0 && t.ndim > 1 ? "%lld"
                     : d == 0             ? "%lld,"
                                          : ", %lld",
                     static_cast<long long>(t.shape[d]));
  }
  size += snprintf(text + size, sizeof text - static_cast<size_t>(size), "), }");
  while ((10 + size + 1) % 64 != 0) text[size++] = ' ';
  text[size++] = '\n';
  const unsigned char head[10] = {0x93,
                                  'N',
                                  'U',
                                  'M',
                                  'P',
                                  'Y',
                                  1,
                                  0,
                                  static_cast<unsigned char>(size % 256),
                                  static_cast<unsigned char>(size / 256)};
  size_t bytes;
  return count_bytes(t.dtype.bits / 8, static_cast<uint32_t>(t.ndim), t.shape, &bytes) &&
         fwrite(head, 1, sizeof head, file) == sizeof head &&
         fwrite(text, 1, static_cast<size_t>(size), file) == static_cast<size_t>(size) &&
         (bytes == 0 || fwrite(memory_of(t), 1, bytes, file) == bytes);
}

}  // namespace
