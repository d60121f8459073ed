// Sparse matrices as arguments: three tensors that hold what is not 0.
//
// `data` has n elements, or n blocks of br rows and bc columns; `indices` says the column of each,
// and `pointers` where each row begins: element e is in row r if pointers[r] <= e < pointers[r +
// 1]. Of blocks, rows and columns are counted in blocks.
//
//   [[0, 5, 0],      data     = [5, 7, 8]
//    [7, 0, 8]]      indices  = [1, 0, 2]
//                    pointers = [0, 1, 3]
//
// The row of element e is the number of pointers that are at most e, minus 1. Where that is no row,
// or `indices` names no column, a program traps. Elements in one place add up.
//
// There are no kernels for sparse matrices: operators make them dense. A constant one is made dense
// when the program is compiled.
#pragma once

#include <span>

#include "op/define.h"
#include "op/term.h"

namespace relay::op {

// Whether a matrix may have blocks for elements.
enum class Blocks : uint8_t { kMay, kNever };

// Requires a matrix with so many columns of the arguments `first`, `first + 1` and `first + 2`.
// Gives the number of its rows. Neither number may be `?`.
Dim require_sparse_matrix(Relation& r, int first, Dim columns, Blocks blocks);
// The number of rows of one that was checked.
Dim sparse_rows(std::span<const Expr> matrix);

// The terms of expansions. A matrix is its three tensors.

// The row and the column of each element or block: (2, n), int64.
Expr places_of(Builder& b, std::span<const Expr> matrix);
// The matrix with all its elements: (rows, columns).
Expr dense_matrix(Builder& b, std::span<const Expr> matrix, Dim columns);

}  // namespace relay::op
