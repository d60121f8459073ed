"""Finds the CUDA Toolkit, or says that there is none."""

_BUILD = """load("@bazel_skylib//rules:common_settings.bzl", "bool_flag")
load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

# --@local_config_cuda//:enable=false builds as if there were no toolkit.
bool_flag(
    name = "enable",
    build_setting_default = {found},
)

config_setting(
    name = "enabled",
    flag_values = {{":enable": "True"}},
)

# What a .cc file needs to call the CUDA runtime, driver or NVRTC.
cc_library(
    name = "cuda_headers",
    hdrs = glob(
        ["include/*.h", "include/crt/*.h"],
        allow_empty = True,
    ),
    includes = ["include"],
)

cc_library(
    name = "cudart_static",
    linkopts = {linkopts},
    deps = [":cuda_headers"],
)
"""

_DEFS = """# Found by //bazel:cuda_configure.bzl.
CUDA_HOME = "{home}"
CUDA_VERSION = "{version}"
"""

def _cuda_configure_impl(rctx):
    home = rctx.os.environ.get("CUDA_HOME", "") or "/usr/local/cuda"
    nvcc = rctx.path(home + "/bin/nvcc")
    version = ""
    if nvcc.exists:
        res = rctx.execute([str(nvcc), "--version"])
        if res.return_code == 0 and "release " in res.stdout:
            version = res.stdout.split("release ")[1].split(",")[0]
    rctx.file("WORKSPACE", 'workspace(name = "%s")\n' % rctx.name)
    linkopts = []
    if version:
        rctx.symlink(home + "/include", "include")
        linkopts = ["-L" + home + "/lib64", "-lcudart_static", "-lpthread", "-ldl", "-lrt"]
    rctx.file("BUILD", _BUILD.format(found = version != "", linkopts = linkopts))
    rctx.file("defs.bzl", _DEFS.format(home = home if version else "", version = version))

cuda_configure = repository_rule(
    implementation = _cuda_configure_impl,
    configure = True,
    environ = ["CUDA_HOME"],
    local = True,
)
