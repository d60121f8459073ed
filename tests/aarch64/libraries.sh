#!/usr/bin/env bash
# libraries.sh DIR: gets what a build for aarch64 needs into the folder, unless it is there. Nothing is installed.
#   DIR/root    the libraries of third_party/aarch64_packages.txt with all that they use; for `qemu-aarch64 -L`
#   DIR/links   the names that `-l` looks for
#   DIR/bin     the cross compiler and its binutils, by the names that Bazel looks for
set -euo pipefail

folder=${1:?say where: libraries.sh DIR}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
list=$here/../../third_party/aarch64_packages.txt

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
# A folder that was left halfway, or is of another list, is made again.
if [[ -e $folder/made && $folder/made -nt $list && $folder/made -nt ${BASH_SOURCE[0]} ]]; then exit 0; fi
tools=(ar as gcc g++ gcov ld ld.bfd ld.gold nm objcopy objdump strip)
for tool in "${tools[@]}"; do
  command -v "aarch64-linux-gnu-$tool" >/dev/null ||
    { echo "relay: no aarch64-linux-gnu-$tool: ./dev install" >&2; exit 1; }
done
rm -rf "${folder:?}"/{made,root,links,bin,apt}
mkdir -p "$folder"/{root,links,bin} "$folder"/apt/{lists,archives}/partial
touch "$folder/apt/status"

# The machine's own sources, with lists and a state of their own: apt knows of no installed package.
apt() {
  apt-get -qq -o Dir::State="$folder/apt" -o Dir::State::lists="$folder/apt/lists" -o Dir::State::status="$folder/apt/status" \
    -o Dir::Cache="$folder/apt" -o Dir::Cache::archives="$folder/apt/archives" -o Debug::NoLocking=1 -o APT::Sandbox::User= \
    -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Acquire::Languages=none "$@"
}

mapfile -t packages < <(awk '!/^#/ && NF { print $3 }' "$list")
echo "relay: fetching libraries for aarch64" >&2
apt update
apt install --yes --no-install-recommends --download-only "${packages[@]}"
for package in "$folder"/apt/archives/*.deb; do dpkg-deb --extract "$package" "$folder/root"; done

while read -r name file _; do
  [[ -n $name && $name != \#* ]] || continue
  found=$(find "$folder/root/lib" "$folder/root/usr/lib" -name "$file" -print -quit)
  [[ -n $found ]] || { echo "relay: no package of $list has $file" >&2; exit 1; }
  ln -s "$found" "$folder/links/lib$name.so"
done <"$list"
# Bazel asks the folder of the compiler for a linker: there must not be this machine's.
for tool in "${tools[@]}"; do
  ln -s "$(command -v "aarch64-linux-gnu-$tool")" "$folder/bin/$tool"
done
rm -rf "$folder/apt"
touch "$folder/made"
