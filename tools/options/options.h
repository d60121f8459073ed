// The command line as commands see it: options that write variables, and what a command does.
//
// Here is the one owner of how options are parsed. The library behind it, CLI11, is of headers
// only, and each file that includes it compiles for seconds longer: options.cc alone does.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace relay::tools {

// How the text of a value is read, before it becomes a number or stays a text.
// tools/options/values.h has the usual ones.
struct Check {
  // Returns what is wrong with the text, "`-1` is not a whole number from 1 to 1024", or an empty
  // text. It may replace the text by what it stands for.
  std::function<std::string(std::string& text)> read;
  std::string shown = {};  // what --help says of such values: "1 to 1024"
};

// What an option writes if it is given; it lives as long as the command line. A list takes all
// values that come after its option. A time is given in seconds.
using Variable =
    std::variant<std::string*, int*, int64_t*, uint64_t*, double*, std::optional<std::chrono::nanoseconds>*,
                 std::vector<std::string>*, std::vector<int>*, std::vector<double>*>;

// An option that a command has. Each function says one thing more of it.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required();
  Option check(Check check);             // every value of a list
  Option kind(const std::string& name);  // of its values, for --help and completion: ENGINE
  Option shows_default();                // --help: what the variable holds now
  Option hidden();                       // --help does not name it
  Option expects(int least, int most);   // so many values
  Option separated_by_commas();          // also: one word may hold several values
  Option one_at_a_time();                // the word after its value is none of its list; it may be repeated

 private:
  CLI::Option* option_;
};

// An option as completion sees it.
struct KnownOption {
  std::vector<std::string> names;  // "--output", "-o"; none if it is known by its place alone
  std::string kind;  // "ENGINE", "TEXT:{so,package}": that of its values, and what their check shows
  bool takes_value;
};

// A program or one of its commands; a handle that is copied, while CommandLine owns what it is of.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  // The program needs one of its commands then, and its own options may stand behind that.
  Command command(const std::string& name, const std::string& about);
  // "-o,--output", or "model" for an argument that is known by its place.
  Option option(const std::string& names, Variable variable, const std::string& help);
  void flag(const std::string& names, bool* given, const std::string& help);
  void action(std::function<void()> action);  // when all of the command line is read
  void footer(const std::string& text);       // the last line of its --help

  std::string name() const;
  std::string help() const;
  std::vector<Command> commands() const;
  std::vector<KnownOption> options() const;  // its own, then those of the program
  // Was the option, "--engine" or "model", in the command line? It was not if there is none.
  bool given(const std::string& option) const;

 private:
  CLI::App* app_;
};

// What became of a command line.
struct Parsed {
  enum class End {
    kRan,       // the action was run; what it throws comes through
    kAsksHelp,  // see `text`
    kAsksVersion,
    kRefused,  // nothing was run
  };
  End end = End::kRan;
  // The help; or what is wrong, "--threads: `-1` is not a whole number from 1 to 1024".
  std::string text = {};
  std::optional<Command> command = {};    // that was refused; none if none was named
  std::vector<std::string> unknown = {};  // words of a refused line that nothing takes
};

class CommandLine {
 public:
  // Without a name the program is called as argv[0] says.
  explicit CommandLine(const std::string& about, const std::string& name = {});
  ~CommandLine();

  Command program() { return Command(app_.get()); }
  void add_version_flag(const std::string& help);  // --version

  Parsed parse(int argc, const char* const* argv);
  // The same for programs without commands: the help or what is wrong is printed, and the exit code
  // is returned. Nullopt: the program goes on.
  std::optional<int> parse_or_report(int argc, const char* const* argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace relay::tools
