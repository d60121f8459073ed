# shellcheck shell=bash
# Sourced by ./relay, ./dev and tools/bazel: what is missing of the lists in third_party, and how to get it. The list
# `packages` is what Relay needs, `test_packages` what its tests need besides.

relay_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Takes --yes out of the arguments: sets `yes`, and `args` to the rest. What follows `--` is left alone.
take_yes() {
  yes=no
  [[ ${CI:-} != true ]] || yes=yes
  args=()
  while (($#)) && [[ $1 != -- ]]; do
    if [[ $1 == --yes ]]; then yes=yes; else args+=("$1"); fi
    shift
  done
  args+=("$@")
}

# missing_packages LIST...: one name a line; nothing if all is there.
missing_packages() {
  local list proof package
  for list; do
    while read -r proof package; do
      [[ -z $proof || $proof == \#* || -e $proof ]] || echo "$package"
    done <"$relay_root/third_party/$list.txt"
  done
}

# install_packages LIST...: installs what is missing, and asks first unless `yes` is "yes".
install_packages() {
  local missing package answer log as_root=()
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0

  if ! command -v apt-get >/dev/null; then
    echo "relay: there is no apt-get here to install Debian's packages: ${missing[*]}" >&2
    exit 2
  fi
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "relay: missing packages, and no sudo: as root, run: apt-get install ${missing[*]}" >&2
      exit 2
    fi
    as_root=(sudo)
  fi
  if [[ $yes != yes && ! -t 0 ]]; then
    echo "relay: missing packages: say --yes, or run: ${as_root[*]:+sudo }apt-get install ${missing[*]}" >&2
    exit 2
  fi

  for package in "${missing[@]}"; do echo "relay: missing Debian package: $package" >&2; done
  if [[ $yes != yes ]]; then
    read -r -p "relay: install with ${as_root[*]:+sudo }apt-get? [y/N] " answer || answer=no
    if [[ $answer != [yY]* ]]; then
      echo "relay: nothing was installed; to do it by hand: apt-get install ${missing[*]}" >&2
      exit 2
    fi
  fi

  echo "relay: installing; the first time takes a minute or two" >&2
  log=$(mktemp)
  # The package lists are fetched only if those that are here do not do: none at all, or out of date.
  if ! apt install "${missing[@]}" >"$log" 2>&1 &&
    ! { apt update && apt install "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    echo "relay: apt-get failed, its last lines are above; to do it by hand: apt-get install ${missing[*]}" >&2
    exit 2
  fi
  rm -f "$log"
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]})); then
    echo "relay: ${missing[*]} came without the files that third_party names: Relay needs Debian 12" >&2
    exit 2
  fi
}

apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends "$@"; }
