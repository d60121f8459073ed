// The constants of all operators, kAdd and its kind, so that C++ names an operator by symbol.
//
// Generated from the files of op/<family>/. Every one of them includes this header too: a constant
// that was not declared extern before its definition would be invisible outside its file.
#pragma once

#include "op/all_ops.inc"
