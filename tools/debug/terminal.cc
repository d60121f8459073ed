// The only file that knows which library edits lines: libreadline, which is opened when somebody
// first types. It is under the GPL, so nothing of ours is linked with it, and a machine that lacks
// it reads plain lines. It keeps state of its own, so it is given here what it asks for.
#include "tools/debug/terminal.h"

#include <dlfcn.h>
#include <signal.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

// After <cstdio>, which it needs.
#include <readline/history.h>
#include <readline/readline.h>

namespace relay::tools::debug {
namespace {

static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait");
std::atomic<bool> interrupted{false};
struct sigaction action_before;

const Complete* completer = nullptr;

// What is used of libreadline, by its own names.
struct Editor {
  decltype(::readline)* readline;
  decltype(::add_history)* add_history;
  decltype(::rl_completion_matches)* completion_matches;
  decltype(::rl_replace_line)* replace_line;
  decltype(::rl_crlf)* crlf;
  decltype(::rl_on_new_line)* on_new_line;
  decltype(::rl_redisplay)* redisplay;
  decltype(::rl_line_buffer)* line_buffer;
  decltype(::rl_point)* point;
  decltype(::rl_readline_name)* readline_name;
  decltype(::rl_attempted_completion_over)* attempted_completion_over;
  decltype(::rl_attempted_completion_function)* attempted_completion_function;
  decltype(::rl_signal_event_hook)* signal_event_hook;
  decltype(::rl_event_hook)* event_hook;
  decltype(::rl_basic_word_break_characters)* basic_word_break_characters;
};

// Returns nullopt if the library or one of the names is not there. Debian's libLLVM brings libedit,
// which has names of libreadline: the library has to see its own first. AddressSanitizer ends a
// program that asks for that.
std::optional<Editor> open_editor() {
#ifdef __SANITIZE_ADDRESS__
  return std::nullopt;
#endif
  void* library = dlopen("libreadline.so.8", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!library) return std::nullopt;
  Editor out;
  bool found = true;
  const auto take = [&]<typename T>(T*& to, const char* name) {
    to = reinterpret_cast<T*>(dlsym(library, name));
    found = found && to;
  };
  take(out.readline, "readline");
  take(out.add_history, "add_history");
  take(out.completion_matches, "rl_completion_matches");
  take(out.replace_line, "rl_replace_line");
  take(out.crlf, "rl_crlf");
  take(out.on_new_line, "rl_on_new_line");
  take(out.redisplay, "rl_redisplay");
  take(out.line_buffer, "rl_line_buffer");
  take(out.point, "rl_point");
  take(out.readline_name, "rl_readline_name");
  take(out.attempted_completion_over, "rl_attempted_completion_over");
  take(out.attempted_completion_function, "rl_attempted_completion_function");
  take(out.signal_event_hook, "rl_signal_event_hook");
  take(out.event_hook, "rl_event_hook");
  take(out.basic_word_break_characters, "rl_basic_word_break_characters");
  return found ? std::optional(out) : std::nullopt;
}

const std::optional<Editor>& editor() {
  static const std::optional<Editor> opened = open_editor();
  return opened;
}

char* copy_of(const std::string& text) { return strdup(text.c_str()); }

// Called with state 0 for the first word, then until it gives null.
char* next_word(const char* word, int state) {
  static std::vector<std::string> words;
  static size_t given;
  if (state == 0) {
    const size_t before = static_cast<size_t>(*editor()->point) - strlen(word);
    words = (*completer)(std::string_view(*editor()->line_buffer, before), word);
    given = 0;
  }
  return given < words.size() ? copy_of(words[given++]) : nullptr;
}

char** words_for(const char* word, int, int) {
  *editor()->attempted_completion_over = 1;  // no names of files
  return editor()->completion_matches(word, next_word);
}

// Control-C at the prompt throws away the line that was begun; it is not kept for the program
// to be stopped by.
int discard_line() {
  if (!interrupted.exchange(false)) return 0;
  editor()->replace_line("", /*clear_undo=*/1);
  editor()->crlf();
  editor()->on_new_line();
  editor()->redisplay();
  return 0;
}

// The terminal itself throws away what was begun when control-C is typed.
std::optional<std::string> read_plain_line(const char* prompt) {
  std::cout << prompt << std::flush;
  std::string out;
  const bool read = static_cast<bool>(std::getline(std::cin, out));
  interrupted = false;
  return read ? std::optional(out) : std::nullopt;
}

}  // namespace

bool edits_lines() { return editor().has_value(); }

std::optional<std::string> read_line(const char* prompt, const Complete& complete) {
  if (!edits_lines()) return read_plain_line(prompt);
  completer = &complete;
  *editor()->readline_name = "relay";
  *editor()->attempted_completion_function = words_for;
  *editor()->signal_event_hook = discard_line;
  *editor()->event_hook =
      discard_line;  // ten times a second: a signal just before the wait for a key wakes nobody
  *editor()->basic_word_break_characters = " \t";
  char* line = editor()->readline(prompt);
  completer = nullptr;
  interrupted = false;
  if (!line) return std::nullopt;
  std::string out(line);
  std::free(line);
  if (!out.empty()) editor()->add_history(out.c_str());
  return out;
}

Interrupts::Interrupts() {
  interrupted = false;
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted.store(true, std::memory_order_relaxed); };
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &action_before);
}

Interrupts::~Interrupts() { sigaction(SIGINT, &action_before, nullptr); }

std::atomic<bool>* Interrupts::flag() const { return &interrupted; }

}  // namespace relay::tools::debug
