"""C++ rules that rules_cc has not."""

def _system_cc_library_impl(ctx):
    own = CcInfo(
        compilation_context = cc_common.create_compilation_context(
            defines = depset(ctx.attr.defines),
            system_includes = depset(ctx.attr.system_includes),
        ),
        linking_context = cc_common.create_linking_context(
            linker_inputs = depset([cc_common.create_linker_input(
                owner = ctx.label,
                user_link_flags = depset(ctx.attr.linkopts),
            )]),
        ),
    )
    return [cc_common.merge_cc_infos(
        direct_cc_infos = [own],
        cc_infos = [d[CcInfo] for d in ctx.attr.deps],
    )]

system_cc_library = rule(
    doc = "A library the system's package manager installed: flags only, no input files.",
    implementation = _system_cc_library_impl,
    attrs = {
        "defines": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "linkopts": attr.string_list(),
        "system_includes": attr.string_list(doc = "absolute, below a built-in include directory"),
    },
    provides = [CcInfo],
)
