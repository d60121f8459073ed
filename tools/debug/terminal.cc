// The only file that knows which library edits lines. It keeps state of its own, so it is given
// here what it asks for.
#include "tools/debug/terminal.h"

#include <signal.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// After <cstdio>, which it needs.
#include <readline/history.h>
#include <readline/readline.h>

namespace relay::tools::debug {
namespace {

static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait");
std::atomic<bool> interrupted{false};
struct sigaction action_before;

const Complete* completer = nullptr;

char* copy_of(const std::string& text) { return strdup(text.c_str()); }

// Called with state 0 for the first word, then until it gives null.
char* next_word(const char* word, int state) {
  static std::vector<std::string> words;
  static size_t given;
  if (state == 0) {
    words =
        (*completer)(std::string_view(rl_line_buffer, static_cast<size_t>(rl_point) - strlen(word)), word);
    given = 0;
  }
  return given < words.size() ? copy_of(words[given++]) : nullptr;
}

char** words_for(const char* word, int, int) {
  rl_attempted_completion_over = 1;  // no names of files
  return rl_completion_matches(word, next_word);
}

// Control-C at the prompt throws away the line that was begun; it is not kept for the program
// to be stopped by.
int discard_line() {
  if (!interrupted.exchange(false)) return 0;
  rl_replace_line("", /*clear_undo=*/1);
  rl_crlf();
  rl_on_new_line();
  rl_redisplay();
  return 0;
}

}  // namespace

std::optional<std::string> read_line(const char* prompt, const Complete& complete) {
  completer = &complete;
  rl_readline_name = "relay";
  rl_attempted_completion_function = words_for;
  rl_signal_event_hook = discard_line;
  rl_event_hook = discard_line;  // ten times a second: a signal just before the wait for a key wakes nobody
  rl_basic_word_break_characters = " \t";
  char* line = readline(prompt);
  completer = nullptr;
  interrupted = false;
  if (!line) return std::nullopt;
  std::string out(line);
  std::free(line);
  if (!out.empty()) add_history(out.c_str());
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
