# Sourced by ./relay, ./dev and tools/bazel: what is missing of third_party/packages.txt, and how to get it.

relay_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# One name a line; nothing if all is there.
missing_packages() {
  local proof package
  while read -r proof package; do
    [[ -z $proof || $proof == \#* || -e $proof ]] || echo "$package"
  done <"$relay_root/third_party/packages.txt"
}

# Installs what is missing, after asking. $1: "yes" does not ask.
install_packages() {
  local missing package answer log
  missing=$(missing_packages)
  [[ -n $missing ]] || return 0
  missing=${missing//$'\n'/ }

  if ! command -v apt-get >/dev/null; then
    echo "relay: this needs Debian's packages ($missing), and there is no apt-get here" >&2
    exit 2
  fi
  local as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "relay: missing packages, and no sudo: run as root: apt-get install $missing" >&2
      exit 2
    fi
    as_root=(sudo)
  fi
  if [[ $1 != yes && ! -t 0 ]]; then
    echo "relay: missing packages: run ${as_root[*]:+sudo }apt-get install $missing (or say --yes)" >&2
    exit 2
  fi

  for package in $missing; do echo "relay: missing Debian package $package" >&2; done
  if [[ $1 != yes ]]; then
    read -r -p "relay: install with ${as_root[*]:+sudo }apt-get? [y/N] " answer
    if [[ $answer != [yY]* ]]; then
      echo "relay: nothing installed; it needs: apt-get install $missing" >&2
      exit 2
    fi
  fi

  echo "relay: installing; this takes a minute or two" >&2
  log=$(mktemp)
  # The package lists are fetched only if the ones that are here do not do: none at all, or out of date.
  if ! apt_install >"$log" 2>&1 && ! { "${as_root[@]}" apt-get update && apt_install; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    echo "relay: apt-get failed (its last lines are above): install $missing by hand" >&2
    exit 2
  fi
  rm -f "$log"
  missing=$(missing_packages)
  if [[ -n $missing ]]; then
    echo "relay: apt-get installed" $missing "but not the files named in third_party/packages.txt: is this Debian 12?" >&2
    exit 2
  fi
}

# In a variable and not `sudo env ...`, for sudo may be absent; uses the caller's $as_root and $missing.
apt_install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
}
