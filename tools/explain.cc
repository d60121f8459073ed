// relay explain: what a diagnostic means, and what the user can do about it.
#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/nearest.h"
#include "base/slug.h"
#include "tools/diagnostics_text.inc"
#include "tools/options/options.h"
#include "tools/session.h"

namespace relay::tools {
namespace {

// The smallest text that shows a diagnostic, and what is said about it. Both are empty if only a
// test with files or machines of its own shows it.
struct Example {
  std::string_view text, message;
};

// Takes the next text between two lines ``` from `rest`; empty if there is none.
std::string_view take_fenced(std::string_view& rest) {
  constexpr std::string_view kFence = "```\n";
  const size_t open = rest.find(kFence);
  if (open == std::string_view::npos) return {};
  rest.remove_prefix(open + kFence.size());
  const size_t close = rest.starts_with(kFence) ? 0 : rest.find(cat("\n", kFence)) + 1;
  const std::string_view found = rest.substr(0, close);
  rest.remove_prefix(found.size() + kFence.size());
  return found;
}

// Reads the section of the slug in docs/diagnostics.md, which tools/diagnostics_page.py wrote.
Example example_of(Slug slug) {
  const std::string_view page = texts::kDiagnosticsPage;
  const std::string head = cat("\n## ", slug.name(), "\n");
  const size_t begin = page.find(head);
  if (begin == std::string_view::npos) return {};
  std::string_view section = page.substr(begin + head.size());
  section = section.substr(0, section.find("\n## "));
  Example out;
  out.text = take_fenced(section);
  out.message = take_fenced(section);
  return out;
}

std::string indented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
    out += cat("  ", text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

void explain(const Session& s, Slug slug) {
  const Example example = example_of(slug);
  if (s.json) {
    s.print_json({{"slug", slug.name()},
                  {"cause", slug.cause()},
                  {"remedy", slug.remedy()},
                  {"example", example.text},
                  {"message", example.message}});
    return;
  }
  s.print(cat(slug.name(), "\n\ncause:  ", slug.cause(), "\nremedy: ", slug.remedy(), "\n"));
  if (!example.message.empty())
    s.print(cat("\nexample:\n", indented(example.text), "\nmessage:\n", indented(example.message)));
}

void list(const Session& s) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (std::string_view name : Slug::all_names()) {
    const Slug slug = *Slug::find(name);
    if (s.json) {
      all.push_back({{"slug", name}, {"cause", slug.cause()}, {"remedy", slug.remedy()}});
    } else {
      s.print(fmt::format("{:<26} {}\n", name, slug.cause()));
    }
  }
  if (s.json) s.print_json(all);
}

bool explain(Session& s, std::string word) {
  // As a message ends: [unknown-variable].
  if (word.size() > 2 && word.front() == '[' && word.back() == ']') word = word.substr(1, word.size() - 2);
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (const std::optional<Slug> slug = Slug::find(word)) {
    explain(s, *slug);
    return true;
  }
  const std::string near =
      did_you_mean(word, names_of(Slug::all_names(), [](std::string_view name) { return name; }));
  return s.fail(kUsage, cat("there is no slug `", word, "`; ", near.empty() ? "" : cat(near, " "),
                            "`relay explain` lists those that there are"));
}

}  // namespace

void add_explain(Command app, Session& session) {
  auto slug = std::make_shared<std::string>();
  Command sub = app.command("explain", "say what a diagnostic means, and what to do about it");
  sub.option("slug", slug.get(), "what a message ends in, as unknown-variable; without it, all are listed")
      .kind("SLUG");
  sub.action([sub, slug, &session] {
    if (sub.given("slug")) {
      explain(session, *slug);
    } else {
      list(session);
    }
  });
}

}  // namespace relay::tools
