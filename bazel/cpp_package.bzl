"""The C++ API as a folder that programs outside of this repository build with."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _whole(ctx, toolchain, features, library):
    if not library.pic_static_library and not library.static_library:
        return library
    return cc_common.create_library_to_link(
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        static_library = library.static_library,
        pic_static_library = library.pic_static_library,
        alwayslink = True,
    )

def _whole_library_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    inputs = [
        cc_common.create_linker_input(
            owner = i.owner,
            libraries = depset([_whole(ctx, toolchain, features, library) for library in i.libraries]),
            user_link_flags = depset(i.user_link_flags),
            additional_inputs = depset(i.additional_inputs),
        )
        for dep in ctx.attr.deps
        for i in dep[CcInfo].linking_context.linker_inputs.to_list()
    ]
    return [CcInfo(linking_context = cc_common.create_linking_context(linker_inputs = depset(inputs)))]

whole_library = rule(
    doc = "The libraries of `deps` and of what they depend on, of which a linker drops nothing.",
    implementation = _whole_library_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    provides = [CcInfo],
)

def _cpp_package_impl(ctx):
    headers = [
        h
        for dep in ctx.attr.deps
        for h in dep[CcInfo].compilation_context.headers.to_list()
        if not h.short_path.startswith("../")
    ]
    folder = ctx.actions.declare_directory(ctx.label.name)
    arguments = ctx.actions.args()
    arguments.add_all([folder.path, ctx.file.library.path, ctx.file._version.path])
    arguments.add_all(headers, map_each = _with_place)
    ctx.actions.run(
        executable = "/usr/bin/python3",
        arguments = [ctx.file._script.path, arguments],
        inputs = headers + [ctx.file.library, ctx.file._script, ctx.file._version],
        outputs = [folder],
        mnemonic = "CppPackage",
    )
    return [DefaultInfo(files = depset([folder]), runfiles = ctx.runfiles(files = [folder]))]

def _with_place(header):
    return header.path + "=" + header.short_path

cpp_package = rule(
    doc = "NAME/include, NAME/lib and what CMake's find_package wants.",
    implementation = _cpp_package_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo], doc = "whose headers, and those of what they depend on, are there"),
        "library": attr.label(allow_single_file = True, doc = "the shared library"),
        "_version": attr.label(default = "//tools:version.h", allow_single_file = True),
        "_script": attr.label(default = "//bazel:cpp_package.py", allow_single_file = True),
    },
)
