// The operators of ai.onnx.ml: what they share. Their files are ml_*.cc.
#pragma once

#include "frontend/onnx/node.h"

namespace relay::frontend {

// --- Attributes of any length. Node::integers has a limit, which is made for shapes.
std::vector<int64_t> whole_list(Node& n, std::string_view name);
std::vector<double> real_list(Node& n, std::string_view name);
// `name`, or the tensor `name`_as_tensor that stands for it.
std::vector<double> real_list_or_tensor(Node& n, std::string_view name);

Expr float_table(Node& n, DType dtype, Shape shape, const std::vector<double>& values);
Expr index_table(Node& n, const std::vector<int64_t>& values);  // int32, which every entry must fit

// The input as (rows, features): a vector is one row.
Expr rows_at(Node& n, size_t i);
// A list of one number for all features, or of one for each, as what broadcasts with x.
Expr by_feature(Node& n, Expr x, const std::vector<double>& values, std::string_view name);

// --- Scores.

enum class PostTransform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };
PostTransform post_transform(Node& n);                // the attribute, as text
PostTransform post_transform(int64_t code, Node& n);  // as the number that TreeEnsemble has
// Of scores (rows, classes).
Expr transformed(Node& n, Expr scores, PostTransform transform);

// The labels of a classifier. Texts are counted, but cannot be a result.
struct ClassLabels {
  std::vector<int64_t> numbers;
  bool texts = false;
  size_t count = 0;
};
// `numbers`: the name of the attribute that has labels as numbers.
ClassLabels class_labels(Node& n, std::string_view numbers);
bool is_label_used(Node& n);  // output 0, by a node or as an output of the model
// The label at each position, int64. Refuses labels that are texts, where the output is wanted.
Expr label_at(Node& n, const ClassLabels& labels, Expr positions);
// The second label where the condition holds, else the first one.
Expr label_where(Node& n, const ClassLabels& labels, Expr second);
Expr largest_score(Node& n, Expr scores);  // the position of the first largest one in each row

}  // namespace relay::frontend
