// The commands: their names, short forms and help. What they do is in session.cc and views.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace relay::tools::debug {

class Session;

struct Command {
  std::string_view name;
  std::string_view letters;  // means this command, whatever else begins so; may be empty
  std::string_view usage;    // what follows the name
  std::string_view summary;  // one line
  std::string_view details;  // for `help NAME`; may be empty
  bool repeats;              // an empty line does it again
  void (Session::*run)(std::string_view arguments);
};

std::span<const Command> commands();

// The command of that name, short form or unique beginning. Throws Refused.
const Command& find_command(std::string_view word);
std::vector<std::string> commands_beginning(std::string_view word);

std::string help_for_all();
std::string help_for(const Command& c);

}  // namespace relay::tools::debug
