"""The instrumented copy of the checkout: every file as it is, but those with places, and the hook."""
import os
import pathlib
import subprocess

# Which mutant a run has stands in RELAY_MUTANT. Which places it came to stands in the file RELAY_MUTANTS_REACHED, a byte each:
# it is mapped, because a test may start processes, and those may end in any way.
HOOK = """\
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace {

constexpr int kMost = %d;

unsigned char* reached() {
  static unsigned char dummy[kMost];
  const char* path = std::getenv("RELAY_MUTANTS_REACHED");
  const int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return dummy;
  void* at = mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return at == MAP_FAILED ? dummy : static_cast<unsigned char*>(at);
}

int number() {
  const char* text = std::getenv("RELAY_MUTANT");
  return text ? std::atoi(text) : -1;
}

}  // namespace

extern "C" bool relay_mutant(int which);
extern "C" bool relay_mutant(int which) {
  static const int chosen = number();
  static unsigned char* const seen = reached();
  seen[which] = 1;
  return which == chosen;
}
"""


def checkout_files(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"], check=True,
                            stdout=subprocess.PIPE).stdout
    files = [name.decode() for name in listed.split(b"\0") if name]
    return [f for f in files if os.path.exists(os.path.join(root, f))] + [
        f for f in (".bazelrc.user",) if os.path.exists(os.path.join(root, f))]


def write(path, content, mode=None):
    """Leaves a file alone that is so already: what is built of it stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)
    if mode is not None:
        path.chmod(mode)


def update(root, tree, instrumented):
    """Makes `tree` a copy of the checkout but for the files in `instrumented`, path to content."""
    root, tree = pathlib.Path(root), pathlib.Path(tree)
    wanted = set()
    for name in checkout_files(root):
        source = root / name
        if source.is_dir():
            continue
        wanted.add(name)
        content = instrumented.get(name, source.read_bytes())
        if name == ".bazelrc.user":
            content += options(instrumented)
        write(tree / name, content, source.stat().st_mode & 0o777)
    if instrumented:
        wanted |= {"base/relay_mutant.cc", ".bazelrc.user"}
        write(tree / "base/relay_mutant.cc", (HOOK % 100000).encode())
        if not (root / ".bazelrc.user").exists():
            write(tree / ".bazelrc.user", options(instrumented))
    for folder, names, files in os.walk(tree):
        names[:] = [n for n in names if not n.startswith("bazel-")]
        for file in files:
            path = pathlib.Path(folder) / file
            if str(path.relative_to(tree)) not in wanted:
                path.unlink()


def options(instrumented):
    """What a mutant makes of a comparison may be worth a warning; other files are compiled as always, so that they are cached."""
    files = "|".join(path.replace(".", "\\.") for path in sorted(instrumented))
    return f"build --per_file_copt=^({files})$@-w\n".encode() if files else b""
