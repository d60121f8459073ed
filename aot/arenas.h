// Memory for the tensors that a function needs only until it calls another one, and for those that
// it gives the caller.
//
// What a kernel writes and only kernels read, before the function calls another one or leaves
// the block, is neither counted nor allocated by itself. It lies in an arena, one block of
// memory for all such tensors, at a place that is planned as in static dataflow. No arena is
// held while another function runs, so that recursion takes no more memory than without them.
// What a kernel writes in the last block of a program is written to the memory that the caller
// has for the output.
//
// The order in which a function uses its values is the order in which it is printed. So it is
// printed twice: the first time tells what is used when, the second time what lies where. Every
// value escapes but for the uses that are told here.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "passes/locations.h"

namespace relay::aot {

// One tensor that a call of a kernel writes. Its extents are of shape variables that are known
// where the function begins.
struct Written {
  std::vector<kernel::Expr> extents;
  size_t element_bytes = 0;
  bool can_be_placed = false;
};

// The output of the call, unless there are several, which are the fields of a value; then its
// temporaries. `is_known` holds for the shape variables that the function knows.
std::vector<Written> written_by(Context& context, const Call& call, const kernel::Kernel& k,
                                const std::function<bool(kernel::Expr)>& is_known);

class Arenas {
 public:
  // What is told in the same order both times.
  void begin_block() { blocks_.push_back(++newest_); }
  void end_block();
  // Ways of which a run takes one: all of them begin where the first one does.
  void fork() { forks_.push_back({stretch_, false}); }
  void next_way();
  void end_fork();

  // `view` shows the elements of `value`.
  void show(const std::string& view, const std::string& value);
  // `value` is read here and not afterwards.
  void use(const std::string& value);
  // `value` may live longer than the function.
  void keep(const std::string& value);
  // `value` is an output of the program, by its number, at the end of this block.
  void give(const std::string& value, size_t output);

  // Does it lie in an arena? That is known the second time.
  bool is_borrowed(const std::string& value) const;

  // A kernel is called that reads these. The first tensor that it writes is `value`; if that is
  // empty, all of them are temporaries. `written` is asked the first time.
  struct Placed {
    std::vector<std::string> lines;   // that stand before the call
    std::vector<std::string> places;  // of what it writes, as C++; empty is none
    bool is_borrowed = false;         // the value is a tensor in an arena
  };
  Placed call_kernel(const std::string& value, const std::vector<std::string>& read,
                     const std::function<std::vector<Written>()>& written);
  // A function is called: lines that stand before it.
  std::vector<std::string> call_function();

  // Between the first time and the second. Where there are no arenas, tensors are only put into
  // outputs. `print` gives an extent as C++.
  void plan(bool has_arenas, const std::function<std::string(kernel::Expr)>& print);

 private:
  struct Item {
    Written written;
    passes::Life life;
    size_t block, stretch;
    bool escapes = false;
    std::optional<size_t> output = {};
    std::string place = {};  // empty if it has none
    std::optional<size_t> arena = {};
  };
  struct Arena {
    size_t stretch;
    std::vector<std::string> lines;  // that declare it
    bool is_declared = false;
  };
  struct Fork {
    size_t stretch;  // where it begins
    bool has_calls;  // of functions, in a way
  };

  void lay_out(const std::vector<size_t>& items, const std::function<std::string(kernel::Expr)>& print);

  std::vector<Item> items_;
  std::vector<size_t> ends_;               // of each call's items
  std::map<std::string, size_t> item_of_;  // by the names of values
  std::vector<Arena> arenas_;
  std::vector<size_t> blocks_ = {0};
  std::vector<Fork> forks_;
  std::vector<std::vector<size_t>> open_ = {{}};  // for each block, the arenas that it has declared
  // Between two calls of functions there is a stretch.
  size_t stretch_ = 0, newest_ = 0, step_ = 0, next_item_ = 0;  // a step for each call
  bool is_planned_ = false;
  size_t slots_ = 0;
};

}  // namespace relay::aot
