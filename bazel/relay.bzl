"""relay_library: a folder of sources is a library and its tests, so that adding a file edits no BUILD file."""

load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")
load("//bazel:layers.bzl", "users_of")

# Commands and readers of files spend their time in the libraries, and compiling them is a third of a build.
_QUICK_FOLDERS = ["bench", "driver", "frontend", "tests", "toolchain", "tools"]

# How these, and tests, are compiled. `--config=debug` optimises nothing in them.
QUICK = select({
    "//bazel:debug": [],
    "//conditions:default": ["-O1"],
})

def _beginning_with(header):
    """The options of files that begin with a precompiled header of this folder; that it does not fit is an error."""
    return ["-include", "bazel/%s.h" % header, "-Winvalid-pch"]

def relay_library(
        name,
        deps = [],
        folders = [],
        generated = [],
        exclude = [],
        visibility = None,
        data = [],
        linkopts = [],
        test_deps = [],
        test_data = [],
        test_size = "small"):
    """One cc_library of the folder's *.cc and *.h, and one cc_test for each of its *_test.cc.

    What testing.h declares for tests is in testing.cc, if there is one: a library of its own, `testing`, for tests alone.

    Args:
      name: of the library; each test is called after its file.
      deps: of the library, and so of the tests.
      folders: subfolders (patterns) whose files belong to the library too.
      generated: targets whose output the sources include.
      exclude: files that belong to another target.
      visibility: what bazel/layers.bzl allows, unless given.
      data: files that the library reads when it runs.
      linkopts: of the library.
      test_deps: what only the tests depend on.
      test_data: files that only the tests read.
      test_size: 1, 5, 15 or 60 minutes are small, medium, large or enormous.
    """
    places = [""] + [f + "/" for f in folders]
    tests = native.glob([p + "*_test.cc" for p in places], exclude = exclude, allow_empty = True)
    testing = native.glob(["testing.cc"], exclude = exclude, allow_empty = True)
    is_quick = native.package_name().split("/")[0] in _QUICK_FOLDERS
    header = "standard_quick" if is_quick else "standard"
    copts_of_tests = QUICK + _beginning_with("tests")
    cc_library(
        name = name,
        srcs = native.glob([p + "*.cc" for p in places], exclude = exclude + tests + testing, allow_empty = True),
        hdrs = native.glob([p + "*.h" for p in places], exclude = exclude, allow_empty = True) + generated,
        data = data,
        linkopts = linkopts,
        copts = (QUICK if is_quick else []) + _beginning_with(header),
        visibility = visibility or users_of(native.package_name()),
        deps = deps + ["//bazel:" + header],
    )
    for source in testing:
        cc_library(
            name = "testing",
            testonly = True,
            srcs = [source],
            copts = copts_of_tests,
            visibility = ["//:__subpackages__"],
            deps = [":" + name, "//bazel:tests", "//tests/support:gtest_main"],
        )
        test_deps = test_deps + [":testing"]
    test_deps = {d: None for d in [":" + name, "//bazel:tests", "//tests/support:gtest_main"] + test_deps}
    for test in tests:
        cc_test(
            name = test[:-len(".cc")],
            size = test_size,
            srcs = [test],
            copts = copts_of_tests,
            data = test_data,
            deps = test_deps.keys(),
        )

def registry(name, type, namespace, table, srcs):
    """Generates NAME.inc: every `const TYPE k...` of srcs, declared and in a table. The directory is the registry."""
    native.genrule(
        name = name,
        srcs = srcs,
        outs = [name + ".inc"],
        cmd = "/usr/bin/python3 $(execpath //bazel:registry.py) {} {} {} $(SRCS) > $@".format(type, namespace, table),
        tools = ["//bazel:registry.py"],
    )
