#include "tools/completion.h"

#include <algorithm>
#include <memory>

#include "base/cat.h"
#include "base/nearest.h"
#include "base/slug.h"
#include "driver/engines.h"
#include "op/registry.h"
#include "passes/runner.h"
#include "toolchain/compiler.h"
#include "tools/options/values.h"
#include "tools/session.h"

namespace relay::tools {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(at, begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::optional<KnownOption> find_option(Command command, const std::string& word) {
  for (const KnownOption& o : command.options()) {
    if (std::find(o.names.begin(), o.names.end(), word) != o.names.end()) return o;
  }
  return std::nullopt;
}

std::optional<KnownOption> first_positional(Command command) {
  for (const KnownOption& o : command.options()) {
    if (o.names.empty()) return o;
  }
  return std::nullopt;
}

// What the values of an option are, by its type name; nothing where they are files or free.
std::vector<std::string> values_of(Command app, const KnownOption& option) {
  // A choice shows its words in braces (option_values). Checks of values add what they
  // are after a colon.
  const std::string& kind = option.kind;
  if (const size_t brace = kind.find('{'); brace != std::string::npos)
    return split(kind.substr(brace + 1, kind.find('}', brace) - brace - 1), ',');
  const std::string name = kind.substr(0, kind.find(':'));
  if (name == "COMMAND") return command_names(app);
  if (name == "ENGINE") return names_of(driver::engines(), [](const driver::Engine& e) { return e.name; });
  if (name == "TARGET") return target::all_names();
  if (name == "PASSES") return names_of(passes::all_passes(), [](const passes::Pass* p) { return p->name; });
  if (name == "OPERATOR") return names_of(op::all_ops(), [](const op::OpDef* op) { return op->name; });
  if (name == "SLUG") return names_of(Slug::all_names(), [](std::string_view slug) { return slug; });
  return {};
}

// Those of the words that begin with `begun`, where a list is written its last part.
std::vector<std::string> beginning(const std::vector<std::string>& all, const std::string& begun) {
  const size_t comma = begun.rfind(',');
  const std::string before = comma == std::string::npos ? "" : begun.substr(0, comma + 1);
  std::vector<std::string> out;
  for (const std::string& word : all) {
    if ((before + word).starts_with(begun)) out.push_back(before + word);
  }
  return out;
}

// What a shell runs to complete words after `relay`; files where relay knows nothing.
constexpr std::string_view kBash = R"(# bash: source <(relay completion bash)
_relay_completion() {
  local IFS=$'\n' line=${COMP_LINE:0:COMP_POINT} words
  IFS=' ' read -ra words <<<"$line"
  [[ $line == *' ' ]] && words+=('')
  COMPREPLY=($("${words[0]}" completion --words -- "${words[@]:1}" 2>/dev/null))
  # Bash replaces what stands after the last colon or equals sign only.
  local last=${words[-1]}
  local kept=${last%"${last##*[:=]}"}
  COMPREPLY=("${COMPREPLY[@]#"$kept"}")
}
complete -o default -F _relay_completion relay
)";
constexpr std::string_view kZsh = R"(# zsh: source <(relay completion zsh)
_relay_completion() {
  local -a found
  found=("${(@f)$("${words[1]}" completion --words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n $found[1] ]]; then compadd -S '' -- "${found[@]}"; else _files; fi
}
compdef _relay_completion relay
)";
constexpr std::string_view kFish = R"(# fish: relay completion fish | source
complete -c relay -a '((commandline -opc)[1] completion --words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
)";

}  // namespace

std::vector<std::string> command_names(Command app) {
  return names_of(app.commands(), [](Command c) { return c.name(); });
}

std::optional<Command> find_command(Command app, const std::string& name) {
  for (const Command c : app.commands()) {
    if (c.name() == name) return c;
  }
  return std::nullopt;
}

std::vector<std::string> option_names(Command command) {
  std::vector<std::string> out;
  for (const KnownOption& o : command.options()) out.insert(out.end(), o.names.begin(), o.names.end());
  return out;
}

std::vector<std::string> completions(Command app, const std::vector<std::string>& words) {
  const std::string begun = words.empty() ? "" : words.back();
  std::optional<Command> command;
  for (size_t i = 0; i + 1 < words.size() && !command; ++i) command = find_command(app, words[i]);
  if (!command) return beginning(begun.starts_with("-") ? option_names(app) : command_names(app), begun);
  if (const size_t equal = begun.find('='); begun.starts_with("--") && equal != std::string::npos) {
    const std::optional<KnownOption> option = find_option(*command, begun.substr(0, equal));
    if (!option) return {};
    const std::string before = begun.substr(0, equal + 1);
    return names_of(beginning(values_of(app, *option), begun.substr(equal + 1)),
                    [&](const std::string& word) { return before + word; });
  }
  if (begun.starts_with("-")) return beginning(option_names(*command), begun);
  std::optional<KnownOption> of;
  if (words.size() >= 2) of = find_option(*command, words[words.size() - 2]);
  if (!of || !of->takes_value) of = first_positional(*command);
  return of ? beginning(values_of(app, *of), begun) : std::vector<std::string>{};
}

bool complete_words(Command app, int argc, char** argv, const Session& session) {
  if (argc < 4 || argv[1] != std::string_view("completion") || argv[2] != std::string_view("--words"))
    return false;
  const std::vector<std::string> words(argv + 4, argv + argc);  // after the `--`
  for (const std::string& word : completions(app, words)) session.print(word + "\n");
  return true;
}

void add_completion(Command app, Session& session) {
  Command sub = app.command(
      "completion",
      "print what makes a shell complete commands, options and names: source <(relay completion bash)");
  auto shell = std::make_shared<std::string>();
  sub.option("shell", shell.get(), "whose script to print")
      .required()
      .check(one_of("shell", {"bash", "zsh", "fish"}));
  sub.action([&session, shell] { session.print(*shell == "bash" ? kBash : *shell == "zsh" ? kZsh : kFish); });
}

}  // namespace relay::tools
