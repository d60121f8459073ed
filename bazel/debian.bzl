"""Repositories made out of what Debian packages have installed.

Nothing here touches the network.
"""

def _missing(rctx, what):
    fail("@{name} needs {what}: sudo apt-get install {pkg}".format(
        name = rctx.name,
        pkg = rctx.attr.package,
        what = what,
    ))

def _debian_source_repository_impl(rctx):
    src = rctx.path(rctx.attr.path)
    if not src.exists:
        _missing(rctx, rctx.attr.path)
    res = rctx.execute(["cp", "-rL", str(src) + "/.", "."])
    if res.return_code != 0:
        fail("copy of %s failed: %s" % (src, res.stderr))
    for name, pairs in rctx.attr.substitutions.items():
        text = rctx.read(name)
        for i in range(0, len(pairs), 2):
            text = text.replace(pairs[i], pairs[i + 1])
        rctx.file(name, text, executable = False)

debian_source_repository = repository_rule(
    doc = "A copy of a Bazel repository that a Debian package installs, with text substitutions.",
    implementation = _debian_source_repository_impl,
    attrs = {
        "path": attr.string(mandatory = True),
        "package": attr.string(mandatory = True),
        "substitutions": attr.string_list_dict(doc = "file -> [old, new, old, new, ...]"),
    },
)

# Debian's rules_cc 0.0.4 wants a helper that Debian's Bazel 4.2.3 has not.
_RULES_CC_FIX = [
    ', "use_cpp_toolchain")',
    ")",
    "use_cpp_toolchain()",
    '["@bazel_tools//tools/cpp:toolchain_type"]',
]

RULES_CC_SUBSTITUTIONS = {
    "cc/private/rules_impl/compiler_flag.bzl": _RULES_CC_FIX,
    "cc/private/rules_impl/cc_flags_supplier.bzl": _RULES_CC_FIX,
}

def _rules_java_stub_impl(rctx):
    rctx.file("WORKSPACE", 'workspace(name = "rules_java")\n')
    rctx.file("BUILD", "")
    rctx.file("java/BUILD", "")
    rctx.file("java/defs.bzl", "".join([
        "def %s(**kwargs):\n    native.%s(**kwargs)\n\n" % (r, r)
        for r in ["java_binary", "java_import", "java_library", "java_proto_library", "java_runtime", "java_toolchain"]
    ]))

rules_java_stub = repository_rule(
    doc = "Answers @bazel_tools//tools/jdk, which is loaded whenever toolchains are resolved.",
    implementation = _rules_java_stub_impl,
)

def _coverage_tools_impl(rctx):
    rctx.file("WORKSPACE", 'workspace(name = "remote_coverage_tools")\n')
    rctx.symlink(rctx.attr.merger, "merger.py")
    rctx.file("BUILD", """package(default_visibility = ["//visibility:public"])
filegroup(name = "coverage_report_generator", srcs = ["merger.py"])
filegroup(name = "lcov_merger", srcs = ["merger.py"])
""")

coverage_tools = repository_rule(
    doc = "Stands in for Bazel's Java coverage tools, which every cc_test depends on.",
    implementation = _coverage_tools_impl,
    attrs = {"merger": attr.label(default = "//bazel:lcov_merger.py", allow_single_file = True)},
)

def _patched_headers_impl(rctx):
    if not rctx.path(rctx.attr.path).exists:
        _missing(rctx, rctx.attr.path)
    name = rctx.attr.path.split("/")[-1]
    res = rctx.execute(["sh", "-c", 'mkdir include && cp -rL "$0" include/"$1"', rctx.attr.path, name])
    if res.return_code != 0:
        fail("copy of %s failed: %s" % (rctx.attr.path, res.stderr))
    for file, pairs in rctx.attr.substitutions.items():
        text = rctx.read("include/%s/%s" % (name, file))
        for i in range(0, len(pairs), 2):
            if pairs[i] not in text:
                fail("%s of @%s is another version than the patch is for: %s" % (file, rctx.name, pairs[i]))
            text = text.replace(pairs[i], pairs[i + 1])
        rctx.file("include/%s/%s" % (name, file), text, executable = False)
    rctx.template("BUILD", rctx.attr.build_file)

patched_headers = repository_rule(
    doc = "A copy of a folder of headers that a Debian package installs, with text substitutions, all of which must fit.",
    implementation = _patched_headers_impl,
    attrs = {
        "build_file": attr.label(mandatory = True, allow_single_file = True),
        "path": attr.string(mandatory = True),
        "package": attr.string(mandatory = True),
        "substitutions": attr.string_list_dict(doc = "file -> [old, new, old, new, ...]"),
    },
)

# The destructor of a JSON value asks for memory, so that deep ones need no stack, and ends the program if there is none. Without
# memory a value is destroyed by recursion.
NLOHMANN_JSON_SUBSTITUTIONS = {
    "json.hpp": [
        "            {\n                // flatten the current json_value",
        "            try\n            {\n                // flatten the current json_value",
        "            }\n\n            switch (t)\n            {\n                case value_t::object:\n" +
        "                {\n                    AllocatorType<object_t> alloc;\n" +
        "                    std::allocator_traits<decltype(alloc)>::destroy",
        "            }\n            catch (const std::bad_alloc&) {}\n\n            switch (t)\n            {\n" +
        "                case value_t::object:\n" +
        "                {\n                    AllocatorType<object_t> alloc;\n" +
        "                    std::allocator_traits<decltype(alloc)>::destroy",
    ],
}

def _system_library_impl(rctx):
    for link, target in rctx.attr.links.items():
        if not rctx.path(target).exists:
            _missing(rctx, target)
        rctx.symlink(target, link)
    for target in rctx.attr.requires:
        if not rctx.path(target).exists:
            _missing(rctx, target)
    rctx.file("WORKSPACE", 'workspace(name = "%s")\n' % rctx.name)
    rctx.symlink(rctx.attr.build_file, "BUILD")

system_library = repository_rule(
    doc = "Like new_local_repository, but links single files and says which package is missing.",
    implementation = _system_library_impl,
    local = True,
    attrs = {
        "build_file": attr.label(mandatory = True, allow_single_file = True),
        "links": attr.string_dict(doc = "path in the repository -> absolute path"),
        "package": attr.string(mandatory = True),
        "requires": attr.string_list(),
    },
)
