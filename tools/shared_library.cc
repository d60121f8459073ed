#include "tools/shared_library.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include "base/cat.h"

namespace relay::tools {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kThisMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kThisMachine = EM_AARCH64;
#else
constexpr Elf64_Half kThisMachine = EM_NONE;
#endif

// Names of artifacts are few and short; a table of names beyond this is somebody else's.
constexpr uint64_t kMostNameBytes = uint64_t{1} << 26;

std::string name_of_machine(Elf64_Half machine) {
  if (machine == EM_X86_64) return "x86-64";
  if (machine == EM_AARCH64) return "aarch64";
  return cat("machine number ", machine);
}

// Parts of a file that may be cut short or lie about its own size.
class File {
 public:
  File(const std::string& path, uint64_t size) : stream_(path, std::ios::binary), size_(size) {}

  bool has(uint64_t offset, uint64_t bytes) const { return offset <= size_ && bytes <= size_ - offset; }
  bool read(uint64_t offset, uint64_t bytes, void* to) {
    if (!has(offset, bytes)) return false;
    stream_.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(stream_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes)));
  }
  // So many equal records; nothing if the file does not have them.
  template <class Record>
  std::optional<std::vector<Record>> table(uint64_t offset, uint64_t count) {
    if (count > size_ / sizeof(Record)) return std::nullopt;
    std::vector<Record> out(count);
    if (!read(offset, count * sizeof(Record), out.data())) return std::nullopt;
    return out;
  }

 private:
  std::ifstream stream_;
  uint64_t size_;
};

// Is the name among those that the section exports?
bool exports(File& file, const std::vector<Elf64_Shdr>& sections, const Elf64_Shdr& symbols,
             std::string_view name) {
  if (symbols.sh_link >= sections.size()) return false;
  const Elf64_Shdr& names = sections[symbols.sh_link];
  if (names.sh_size > kMostNameBytes) return false;
  const auto text = file.table<char>(names.sh_offset, names.sh_size);
  const auto list = file.table<Elf64_Sym>(symbols.sh_offset, symbols.sh_size / sizeof(Elf64_Sym));
  if (!text || !list) return false;
  for (const Elf64_Sym& s : *list) {
    if (s.st_shndx == SHN_UNDEF || s.st_name >= text->size()) continue;
    const std::string_view rest(text->data() + s.st_name, text->size() - s.st_name);
    if (rest.substr(0, rest.find('\0')) == name) return true;
  }
  return false;
}

// A library without a table of sections may: the system's loader finds out.
bool may_export(File& file, const std::vector<Elf64_Shdr>& sections, std::string_view name) {
  if (sections.empty()) return true;
  return std::any_of(sections.begin(), sections.end(), [&](const Elf64_Shdr& s) {
    return s.sh_type == SHT_DYNSYM && exports(file, sections, s, name);
  });
}

}  // namespace

std::string wrong_library(const std::string& path, std::string_view function) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return cat("cannot read ", path, ": ", std::strerror(errno));
  if (!S_ISREG(about.st_mode))
    return cat("cannot read ", path, ": it is ", S_ISDIR(about.st_mode) ? "a folder" : "not a regular file");
  File file(path, static_cast<uint64_t>(about.st_size));
  Elf64_Ehdr head = {};
  if (!file.read(0, SELFMAG, &head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
    return cat(path, " is no shared library: it does not begin as an ELF file does");
  const std::string cut = cat(path, " is cut short: make or copy it again");
  if (!file.read(0, sizeof head, &head)) return cut;
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
      (kThisMachine != EM_NONE && head.e_machine != kThisMachine))
    return cat(path, " is for another machine (", name_of_machine(head.e_machine), "), this one is ",
               name_of_machine(kThisMachine), ": run it there, or compile the model for this one");
  if (head.e_type != ET_DYN) return cat(path, " is no shared library, but another kind of ELF file");
  const auto segments = file.table<Elf64_Phdr>(head.e_phoff, head.e_phnum);
  const auto sections = file.table<Elf64_Shdr>(head.e_shoff, head.e_shnum);
  if (!segments || !sections) return cut;
  for (const Elf64_Phdr& s : *segments) {
    if (s.p_type == PT_LOAD && !file.has(s.p_offset, s.p_filesz)) return cut;
  }
  if (!may_export(file, *sections, function))
    return cat(path, " is no artifact of Relay's: it exports no `", function,
               "`; `relay compile MODEL -o X.so` makes one");
  return {};
}

}  // namespace relay::tools
