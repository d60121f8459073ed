"""cuda_library: host-callable code from .cu files, compiled by nvcc."""

load("@local_config_cuda//:defs.bzl", "CUDA_HOME")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain")

def _cuda_objects_impl(ctx):
    toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    deps = [d[CcInfo] for d in ctx.attr.deps]
    dep_context = cc_common.merge_cc_infos(cc_infos = deps).compilation_context
    host = toolchain.compiler_executable

    objects = []
    for src in ctx.files.srcs:
        obj = ctx.actions.declare_file("_cuda/%s/%s.o" % (ctx.label.name, src.basename))
        args = ctx.actions.args()
        args.add("-c", src)
        args.add("-o", obj)
        args.add("-std=c++20")
        args.add("-ccbin", host)
        args.add_all(ctx.attr.arch, format_each = "-gencode=%s")
        if ctx.var["COMPILATION_MODE"] == "dbg":
            args.add_all(["-g", "-O0"])
        else:
            args.add_all(["-O2"])
        args.add_all(["-Xcompiler", "-fPIC"])
        args.add_all(dep_context.defines, before_each = "-D")
        args.add_all([".", ctx.bin_dir.path], before_each = "-I")
        args.add_all(dep_context.quote_includes, before_each = "-I")
        args.add_all(dep_context.includes, before_each = "-I")
        args.add_all(dep_context.system_includes, before_each = "-isystem")
        args.add_all(ctx.attr.copts)
        ctx.actions.run(
            executable = CUDA_HOME + "/bin/nvcc",
            arguments = [args],
            inputs = depset(
                ctx.files.srcs + ctx.files.hdrs,
                transitive = [dep_context.headers, toolchain.all_files],
            ),
            outputs = [obj],
            env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp"},
            mnemonic = "CudaCompile",
            progress_message = "Compiling (CUDA) %s" % src.short_path,
        )
        objects.append(obj)

    compilation = cc_common.create_compilation_context(
        headers = depset(ctx.files.hdrs),
        quote_includes = depset(["."]),
    )
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = ctx.label.name,
        feature_configuration = features,
        cc_toolchain = toolchain,
        compilation_outputs = cc_common.create_compilation_outputs(
            objects = depset(objects),
            pic_objects = depset(objects),
        ),
        user_link_flags = [
            "-L" + CUDA_HOME + "/lib64",
            "-lcudart_static",
            "-lpthread",
            "-ldl",
            "-lrt",
        ],
        disallow_dynamic_library = True,
    )
    own = CcInfo(compilation_context = compilation, linking_context = linking)
    return [
        DefaultInfo(files = depset(objects)),
        cc_common.merge_cc_infos(direct_cc_infos = [own], cc_infos = deps),
    ]

_cuda_library = rule(
    implementation = _cuda_objects_impl,
    attrs = {
        "arch": attr.string_list(),
        "copts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "hdrs": attr.label_list(allow_files = True),
        "srcs": attr.label_list(allow_files = [".cu", ".cc"]),
        "_cc_toolchain": attr.label(default = Label("@bazel_tools//tools/cpp:current_cc_toolchain")),
    },
    fragments = ["cpp"],
    provides = [CcInfo],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

# Builds only where there is a CUDA Toolkit; elsewhere the target is skipped.
NEEDS_CUDA = select({
    "@local_config_cuda//:enabled": [],
    "//conditions:default": ["@platforms//:incompatible"],
})

def cuda_library(name, arch = ["arch=compute_90,code=sm_90", "arch=compute_90,code=compute_90"], **kwargs):
    _cuda_library(
        name = name,
        arch = arch,
        target_compatible_with = NEEDS_CUDA,
        **kwargs
    )
