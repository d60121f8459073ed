#include "aot/listing.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/cat.h"
#include "base/escape.h"

namespace relay::aot {
namespace {

class Listing {
 public:
  explicit Listing(const Sources& sources) {
    for (const SourceFile& f : sources.files) {
      if (f.name.ends_with(".h")) headers_.emplace(f.name, &f);
    }
    for (const SourceFile& f : sources.files) {
      if (!f.name.ends_with(".h")) add(f);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  // Headers come first, and once; so the lines that ask for them go.
  void add(const SourceFile& file) {
    std::string text;
    for (size_t begin = 0; begin < file.text.size();) {
      const size_t end = std::min(file.text.find('\n', begin), file.text.size() - 1) + 1;
      const std::string_view line(file.text.data() + begin, end - begin);
      begin = end;
      const SourceFile* header = included(line);
      if (!header) {
        text += line;
      } else if (listed_.insert(header->name).second) {
        add(*header);
      }
    }
    text_ += cat(line_comment("//", "---- " + file.name), "\n", text, "\n");
  }

  // Headers include few others, and none includes itself.
  const SourceFile* included(std::string_view line) const {
    constexpr std::string_view kInclude = "#include \"";
    if (!line.starts_with(kInclude)) return nullptr;
    line.remove_prefix(kInclude.size());
    const auto it = headers_.find(line.substr(0, line.find('"')));
    return it == headers_.end() ? nullptr : it->second;
  }

  std::map<std::string, const SourceFile*, std::less<>> headers_;
  std::set<std::string> listed_;
  std::string text_;
};

}  // namespace

std::string listing(const Sources& sources) { return Listing(sources).take(); }

}  // namespace relay::aot
