"""precompiled_header: headers that GCC reads once, and not for every file that includes them.

Other compilers get an empty one, so a file that lacks an include fails to compile there (`./dev nightly clang`).
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _compile(ctx, toolchain, inputs, header, out):
    features = cc_common.configure_features(
        cc_toolchain = toolchain,
        ctx = ctx,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    variables = cc_common.create_compile_variables(
        cc_toolchain = toolchain,
        feature_configuration = features,
        output_file = out.path,
        preprocessor_defines = inputs.defines,
        quote_include_directories = depset(["."], transitive = [inputs.quote_includes]),
        source_file = header.path,
        system_include_directories = depset(transitive = [inputs.system_includes, inputs.includes]),
        use_pic = True,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts + ["-x", "c++-header"],
    )
    tool = {"action_name": CPP_COMPILE_ACTION_NAME, "feature_configuration": features}
    ctx.actions.run(
        arguments = cc_common.get_memory_inefficient_command_line(variables = variables, **tool),
        env = cc_common.get_environment_variables(variables = variables, **tool),
        executable = cc_common.get_tool_for_action(**tool),
        inputs = depset([header] + ctx.files.srcs, transitive = [toolchain.all_files, inputs.headers]),
        mnemonic = "CppPrecompile",
        outputs = [out],
        progress_message = "Compiling %s once for all" % header.short_path,
    )

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    inputs = cc_common.merge_cc_infos(cc_infos = [d[CcInfo] for d in ctx.attr.deps]).compilation_context
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    is_gcc = toolchain.compiler != "clang"
    ctx.actions.write(header, "".join(['#include "%s"\n' % f.path for f in ctx.files.srcs if is_gcc]))
    files = [header] + ctx.files.srcs
    if is_gcc:
        precompiled = ctx.actions.declare_file(ctx.label.name + ".h.gch")
        _compile(ctx, toolchain, inputs, header, precompiled)
        files.append(precompiled)
    return [CcInfo(compilation_context = cc_common.create_compilation_context(headers = depset(files)))]

precompiled_header = rule(
    doc = "NAME.h, which includes `srcs`, and beside it what GCC takes for it where options are the same.",
    implementation = _precompiled_header_impl,
    attrs = {
        "copts": attr.string_list(doc = "beyond those of the command line: the ones of the files that include it"),
        "deps": attr.label_list(doc = "whose headers it includes", providers = [CcInfo]),
        "srcs": attr.label_list(allow_files = [".h"], mandatory = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    provides = [CcInfo],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
