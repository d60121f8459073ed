"""Cases of ai.onnx.ml."""
import numpy as np
from onnx import helper

F = np.float32
ROWS = {0: {0: "rows"}}
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def features(c, add):
    x = np.array([[1, 2], [-1, .5], [0, 0]], F)
    whole = np.array([[1, 2], [5, 2]])
    missing = np.array([[1, np.nan], [5, 2]], F)
    add("extract", "ArrayFeatureExtractor", [x, np.array([1, 0, 1])], open=ROWS)
    add("extract_of_vector", "ArrayFeatureExtractor", [x[0], np.array([[1, 0, 1]])])
    add("extract_integers", "ArrayFeatureExtractor", [np.arange(24).reshape(2, 3, 4), np.array([3, 0])])
    add("binarizer", "Binarizer", [x], threshold=.5, open=ROWS)
    add("vectorizer", "FeatureVectorizer", [x, x[:, :1]], inputdimensions=[2, 1], open={0: {0: "rows"}, 1: {0: "rows"}})
    add("vectorizer_cuts_and_fills", "FeatureVectorizer", [x, x[:, :1]], inputdimensions=[1, 3])
    add("vectorizer_of_vectors", "FeatureVectorizer", [x[0], x[1]], inputdimensions=[2, 2])
    add("vectorizer_of_integers", "FeatureVectorizer", [whole], inputdimensions=[2])
    add("imputer_nan", "Imputer", [missing], imputed_value_floats=[7., 8.], replaced_value_float=float("nan"), open=ROWS)
    add("imputer_one", "Imputer", [missing], imputed_value_floats=[7.], replaced_value_float=5.)
    add("imputer_integers", "Imputer", [whole], imputed_value_int64s=[7, 8], replaced_value_int64=2)
    for norm in ("MAX", "L1", "L2"):
        z = np.array([[1, -4, 2], [0, 0, 0], [-1, -2, -3]], F)
        add(f"normalizer_{norm}", "Normalizer", [z], norm=norm, open=ROWS)
        add(f"normalizer_{norm}_vector", "Normalizer", [z[0]], norm=norm)
    add("normalizer_integers", "Normalizer", [whole], norm="L1")
    add("one_hot", "OneHotEncoder", [whole], cats_int64s=[1, 2, 9], open=ROWS)
    add("one_hot_of_floats", "OneHotEncoder", [np.array([[1, 2], [9.5, 2]], F)], cats_int64s=[1, 2, 9])
    add("one_hot_without_zeros", "OneHotEncoder", [np.array([[1, 2], [9, 2]])], cats_int64s=[1, 2, 9], zeros=0)
    add("scaler", "Scaler", [x], offset=[1., 2.], scale=[2., 3.], open=ROWS)
    add("scaler_one", "Scaler", [whole], offset=[1.], scale=[2.])


def labels(c, add):
    x = np.array([[3, 1], [7, 2]])
    real = np.array([1, np.nan, 2.5, 4], F)
    add("labels", "LabelEncoder", [x], keys_int64s=[7, 1, 3], values_int64s=[70, 10, 30], default_int64=-5, open=ROWS)
    add("labels_to_floats", "LabelEncoder", [x], keys_int64s=[7, 1, 3], values_floats=[.5, 1.5, 2.5], default_float=9.)
    add("labels_twice", "LabelEncoder", [x], keys_int64s=[7, 7, 3], values_int64s=[70, 10, 30])
    add("labels_of_floats", "LabelEncoder", [real], keys_floats=[2.5, float("nan"), 1], values_int64s=[1, 2, 3])
    add("labels_of_floats_4", "LabelEncoder", [real], keys_floats=[2.5, float("nan"), 1], values_int64s=[1, 2, 3], ml=4)
    add("labels_tensor", "LabelEncoder", [x], ml=4, keys_tensor=helper.make_tensor("k", 7, [2], [3, 2]),
        values_tensor=helper.make_tensor("v", 7, [2], [30, 20]), default_tensor=helper.make_tensor("d", 7, [1], [4]))


def linear(c, add):
    x = np.array([[1, 2], [-1, .5], [0, 0]], F)
    three = dict(coefficients=[.1, .2, -.1, -.2, 0, 0], intercepts=[.55, .3, .5])
    for transform in TRANSFORMS:
        add(f"linear_{transform}", "LinearRegressor", [x], targets=3, post_transform=transform, **three, open=ROWS)
        add(f"linear_classes_{transform}", "LinearClassifier", [x], 2, classlabels_ints=[3, 7, 9],
            post_transform=transform, **three, open=ROWS)
    add("linear_one", "LinearRegressor", [x], coefficients=[.1, .2], intercepts=[.55])
    add("linear_one_vector", "LinearRegressor", [x[0]], coefficients=[.1, .2])
    for transform in ("NONE", "LOGISTIC"):
        add(f"linear_two_{transform}", "LinearClassifier", [x], 2, coefficients=[.1, .2], intercepts=[-.15],
            classlabels_ints=[3, 7], post_transform=transform)
    add("linear_texts", "LinearClassifier", [x], [1], classlabels_strings=["a", "b", "c"], **three)


def forest(rng, trees, depth, features, leaf, targets, modes=("BRANCH_LEQ",), weights=None, missing=False):
    """Attributes of random trees. `targets(tree)` are those of each leaf of the tree."""
    out = {f"nodes_{k}": [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
                                      "missing_value_tracks_true")}
    for key in ("treeids", "nodeids", "ids", "weights"):
        out[f"{leaf}_{key}"] = []

    def node(tree, level, numbers):
        own = next(numbers)
        branch = level < depth and (level == 0 or rng.random() < .8)
        row = {"treeids": tree, "nodeids": own, "featureids": int(rng.integers(features)) if branch else 0,
               "values": float(rng.integers(-4, 5) / 2) if branch else 0., "modes": str(rng.choice(modes)) if branch else "LEAF",
               "truenodeids": 0, "falsenodeids": 0,
               "missing_value_tracks_true": int(rng.integers(2)) if missing and branch else 0}
        at = len(out["nodes_treeids"])
        for key, value in row.items():
            out[f"nodes_{key}"].append(value)
        if branch:
            out["nodes_truenodeids"][at] = node(tree, level + 1, numbers)
            out["nodes_falsenodeids"][at] = node(tree, level + 1, numbers)
            return own
        for target in targets(tree):
            weight = float(rng.integers(-8, 9) / 8) if weights is None else float(weights())
            for key, value in (("treeids", tree), ("nodeids", own), ("ids", target), ("weights", weight)):
                out[f"{leaf}_{key}"].append(value)
        return own

    for tree in range(trees):
        node(tree, 0, iter(range(10000)))
    return out


def trees(c, add):
    rng = np.random.default_rng(11)
    x = (rng.integers(-5, 6, (7, 4)) / 2).astype(F)
    nan = x.copy()
    nan[::2, 1] = np.nan
    modes = [f"BRANCH_{m}" for m in ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")]
    one, all_three = lambda tree: [0], lambda tree: [0, 1, 2]
    for mode in modes:
        add(f"trees_{mode}", "TreeEnsembleRegressor", [nan], n_targets=1,
            **forest(rng, 5, 4, 4, "target", one, (mode,), missing=True))
    add("trees_mixed", "TreeEnsembleRegressor", [nan], n_targets=1, open=ROWS,
        **forest(rng, 9, 5, 4, "target", one, modes, missing=True))
    add("trees_deep", "TreeEnsembleRegressor", [x], n_targets=1, **forest(rng, 2, 8, 4, "target", one))
    add("trees_of_a_leaf", "TreeEnsembleRegressor", [x], n_targets=1, **forest(rng, 2, 0, 4, "target", one))
    double = forest(rng, 4, 3, 4, "target", one)
    for key in ("nodes_values", "target_weights"):
        numbers = double.pop(key)
        double[f"{key}_as_tensor"] = helper.make_tensor("t", 11, [len(numbers)], [v + 1e-9 for v in numbers])
    add("trees_doubles", "TreeEnsembleRegressor", [x.astype(np.float64)], n_targets=1, **double)
    for how in ("SUM", "AVERAGE", "MIN", "MAX"):
        add(f"trees_{how}", "TreeEnsembleRegressor", [x], n_targets=3, aggregate_function=how, base_values=[1., 2., 3.],
            **forest(rng, 5, 3, 4, "target", all_three), open=ROWS)
        add(f"trees_{how}_by_target", "TreeEnsembleRegressor", [x], n_targets=3, aggregate_function=how,
            base_values=[1., 2., 3.], **forest(rng, 6, 3, 4, "target", lambda tree: [tree % 3]))
        add(f"trees_{how}_partly", "TreeEnsembleRegressor", [x], n_targets=3, aggregate_function=how,
            base_values=[1., 2., 3.], **forest(rng, 2, 3, 4, "target", lambda tree: [int(rng.integers(3))]))
    for transform in TRANSFORMS[:-1]:
        add(f"trees_targets_{transform}", "TreeEnsembleRegressor", [x], n_targets=3, post_transform=transform,
            **forest(rng, 5, 3, 4, "target", all_three))


def tree_classes(c, add):
    rng = np.random.default_rng(12)
    x = (rng.integers(-5, 6, (7, 4)) / 2).astype(F)
    three = dict(classlabels_int64s=[5, 8, 9])
    for transform in TRANSFORMS[:-1]:
        add(f"tree_classes_{transform}", "TreeEnsembleClassifier", [x], 2, post_transform=transform, **three,
            **forest(rng, 6, 3, 4, "class", lambda tree: [tree % 3]), open=ROWS)
    add("tree_classes_integers", "TreeEnsembleClassifier", [(2 * x).astype(np.int64)], 2, **three,
        **forest(rng, 6, 3, 4, "class", lambda tree: [0, 1, 2]))
    add("tree_classes_partly", "TreeEnsembleClassifier", [x], 2, **three,
        **forest(rng, 2, 3, 4, "class", lambda tree: [int(rng.integers(3))]))
    add("tree_classes_base", "TreeEnsembleClassifier", [x], 2, base_values=[.5, -.25, 0.], **three,
        **forest(rng, 2, 3, 4, "class", lambda tree: [int(rng.integers(3))]))
    add("tree_classes_texts", "TreeEnsembleClassifier", [x], [1], classlabels_strings=["a", "b", "c"],
        **forest(rng, 6, 3, 4, "class", lambda tree: [0, 1, 2]))
    two = dict(classlabels_int64s=[5, 8])
    shares = lambda: rng.integers(0, 9) / 16
    for transform in ("NONE", "LOGISTIC"):
        for sign, weights in (("shares", shares), ("margins", None)):
            add(f"two_classes_{sign}_{transform}", "TreeEnsembleClassifier", [x], 2, post_transform=transform, **two,
                **forest(rng, 2, 3, 4, "class", lambda tree: [0], weights=weights), open=ROWS)
            add(f"two_classes_base_{sign}_{transform}", "TreeEnsembleClassifier", [x], 2, post_transform=transform,
                base_values=[.25], **two, **forest(rng, 2, 3, 4, "class", lambda tree: [0], weights=weights))
    for transform in ("NONE", "LOGISTIC", "SOFTMAX"):
        for sign, weights in (("shares", shares), ("margins", None)):
            add(f"second_class_{sign}_{transform}", "TreeEnsembleClassifier", [x], 2, post_transform=transform, **two,
                **forest(rng, 2, 3, 4, "class", lambda tree: [1], weights=weights))
    add("both_classes_scores", "TreeEnsembleClassifier", [x], [1], **two,
        **forest(rng, 3, 3, 4, "class", lambda tree: [0, 1], weights=shares))


def ensembles(c, add):
    """TreeEnsemble of version 5: two trees, of which one asks for members of sets."""
    x = np.array([[1.2, 3], [-1.5, 7], [2, 4], [0, np.nan], [9, 9]], F)
    floats = lambda values: helper.make_tensor("t", 1, [len(values)], values)
    nodes = dict(
        nodes_featureids=[0, 1, 1], nodes_modes=helper.make_tensor("m", 2, [3], [0, 6, 6]),
        nodes_splits=floats([1., 0., 0.]), nodes_truenodeids=[1, 0, 2], nodes_trueleafs=[0, 1, 1], nodes_falsenodeids=[1, 2, 3],
        nodes_falseleafs=[1, 1, 1], membership_values=floats([3., 7., float("nan"), 4., 9., 11., float("nan")]),
        tree_roots=[0, 2], leaf_targetids=[0, 1, 0, 1], leaf_weights=floats([.5, 1.5, -2., 4.]))
    for code, how in enumerate(("AVERAGE", "SUM", "MIN", "MAX")):
        add(f"ensemble_{how}", "TreeEnsemble", [x], ml=5, n_targets=2, aggregate_function=code, **nodes, open=ROWS)
    # ONNX Runtime 1.32 takes 1 for LOGISTIC and 2 for SOFTMAX.
    add("ensemble_softmax", "TreeEnsemble", [x], ml=5, n_targets=2, post_transform=2, standard={"post_transform": 1}, **nodes)
    add("ensemble_logistic", "TreeEnsemble", [x], ml=5, n_targets=2, post_transform=1, standard={"post_transform": 2}, **nodes)
    nodes["nodes_modes"] = helper.make_tensor("m", 2, [3], [2, 1, 5])
    nodes["nodes_missing_value_tracks_true"] = [0, 1, 0]
    add("ensemble_modes", "TreeEnsemble", [x], ml=5, n_targets=2, **{k: v for k, v in nodes.items() if k != "membership_values"})


def support_vectors(c, add):
    x = c.eighths(5, 3)
    shape = dict(kernel_params=[.5, 1., 3.], support_vectors=c.eighths(18).tolist())
    scores = dict(coefficients=c.eighths(6).tolist(), rho=[.25])
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        for one_class in (0, 1):
            add(f"svm_{kernel}_{one_class}", "SVMRegressor", [x], kernel_type=kernel, n_supports=6, one_class=one_class,
                **shape, **scores, open=ROWS)
    add("svm_without_vectors", "SVMRegressor", [x], kernel_type="LINEAR", coefficients=[1., 2., 3.], rho=[.25],
        kernel_params=[0., 0., 0.], n_supports=0)
    three = dict(kernel_type="RBF", coefficients=c.eighths(12).tolist(), rho=[.1, -.2, .3], vectors_per_class=[1, 3, 2],
                 classlabels_ints=[4, 5, 6], **shape)
    two = dict(kernel_type="POLY", coefficients=c.eighths(6).tolist(), rho=[.1], vectors_per_class=[2, 4],
               classlabels_ints=[4, 5], **shape)
    for transform in ("NONE", "LOGISTIC", "SOFTMAX"):
        add(f"svm_classes_{transform}", "SVMClassifier", [x], 2, post_transform=transform, **three, open=ROWS)
    for transform in ("NONE", "LOGISTIC"):
        add(f"svm_two_classes_{transform}", "SVMClassifier", [x], 2, post_transform=transform, **two)
    add("svm_probable", "SVMClassifier", [x], 2, prob_a=[-1.5, -1., -2.], prob_b=[.25, .125, 0.], **three, open=ROWS,
        near=(1e-5, 1e-5))
    add("svm_two_probable", "SVMClassifier", [x], 2, prob_a=[-1.5], prob_b=[.25], **two, near=(1e-5, 1e-5))
    add("svm_linear_classes", "SVMClassifier", [x], 2, coefficients=c.eighths(9).tolist(), rho=[.25, .5, 0.],
        classlabels_ints=[4, 5, 6], kernel_type="LINEAR", kernel_params=[0., 0., 0.])


def add(cases):
    def one(name, op, inputs, *args, **more):
        cases.add(f"ml/{name}", op, inputs, *args, domain="ai.onnx.ml", **more)

    for family in (features, labels, linear, support_vectors, trees, tree_classes, ensembles):
        family(cases, one)
