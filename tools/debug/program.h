// Program: what the debugger knows of a module before it runs: names, places in the text, which
// variables are in scope.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/module.h"
#include "ir/traverse.h"
#include "runtime/value.h"
#include "tools/debug/names.h"

namespace relay::tools::debug {

// A constant, a variable or another operand that is its own value: nothing happens that a stop
// could show. So is a let, whose value and body are expressions of their own, and a function, which
// is only closed over.
bool quiet(Expr e);
// Decides what is evaluated next: to go over it would be to go over all that follows.
bool decides(Expr e);

// "@main" and so on: all functions of the module.
std::vector<std::string> function_names(const Module& m);

class Program {
 public:
  // `is_listed`: spans point into a list of nodes that an importer made.
  Program(Module m, bool is_listed);

  const Module& module() const { return module_; }
  const SourceMap& sources() const { return module_.context().sources(); }
  const std::vector<Expr>& expressions() const { return all_; }  // children before parents

  std::string name_of(const Fn* fn) const;  // "@main", "%loop", "fn"; "an expression" for none
  const Names& names() const { return names_; }
  std::vector<const Var*> variables_around(Expr e) const;  // that binders around e bind, outermost first
  // The expressions at which execution comes to a line: of each that is not within another of
  // the line, or is the body of a function there, what is first evaluated of it. `within`: all
  // that begin there.
  std::vector<Expr> at_line(uint32_t file, uint64_t line, bool within) const;
  // The first line after `line` on which an expression begins; 0 if there is none.
  uint64_t next_line(uint32_t file, uint64_t line) const;

  // For people.
  std::string describe(Expr e) const;             // "`add`", "call of @f", "if"
  std::string place(Expr e, const Fn* fn) const;  // "`add` at f.relay:3:5 in @main", and the line
  std::string start(const Fn* fn) const;          // "start of @main at f.relay:1:1", and the line
  std::string source(Expr e) const;               // the line with carets beneath; empty if there is none
  std::string value(const Value& v) const;        // in full, as far as it is short, with statistics
  std::string short_value(const Value& v) const;  // on one line
  std::string listing(uint32_t file, uint64_t middle, uint64_t around, uint64_t current) const;

 private:
  bool begins_on(Expr e, uint32_t file, uint64_t line) const;
  Expr first_on(Expr e, uint32_t file, uint64_t line) const;

  Module module_;
  Names names_;
  std::vector<Expr> all_;
  NodeMap<Expr> parent_;  // the first that has it as a child
  std::unordered_map<const Fn*, std::string> function_names_;
};

}  // namespace relay::tools::debug
