#!/usr/bin/env bash
# Starts an operator or a pass from tools/templates: new.sh op|pass NAME. Files are made beneath the folder that it runs in, and none is
# written over. RELAY_TEMPLATES says where the templates are.
set -euo pipefail

templates=${RELAY_TEMPLATES:-$(dirname "${BASH_SOURCE[0]}")/templates}

fail() {
  echo "relay: $*" >&2
  exit 2
}

# log_softmax: kLogSoftmax
constant_of() { echo "k$(sed -E 's/(^|_)([a-z0-9])/\U\2/g' <<<"$1")"; }

# none_is_there FILE...: refuses before the first file is made.
none_is_there() {
  local file
  for file; do
    [[ ! -e $file ]] || fail "$file is there already"
  done
}

# from_template TEMPLATE FILE NAME STEM: fills in the blanks, and puts marks under the call in what a checker says of it.
from_template() {
  local template=$1 file=$2 name=$3 stem=$4 under=${3//?/\~} over=${3//?/ }
  mkdir -p "$(dirname "$file")"
  sed -e "s|@PATH@|$file|g; s|@NAME@|$name|g; s|@STEM@|$stem|g; s|@UNDER@|$under|g; s|@OVER@|$over|g" \
    -e "s|@COLUMN_OF_ARGUMENT@|$((38 + ${#name}))|g; s|kTemplate|$(constant_of "$stem")|g" \
    -e "s|TemplateAttrs|$(constant_of "$stem" | tail -c +2)Attrs|g" "$templates/$template" >"$file"
  echo "$file"
}

# The folder is the family, and the first part of the name except in math, where names have one part.
new_op() {
  local name=$1 family=math
  [[ $name =~ ^([a-z][a-z0-9]*\.)?[a-z][a-z0-9_]*$ ]] || fail "'$name' is no operator name: say nn.gelu, or cube"
  [[ $name != *.* ]] || family=${name%%.*}
  local stem=${name##*.} source test golden
  source=op/$family/$stem.cc test=tests/exec/op/$name.relay golden=tests/golden/typecheck/fail_${name}_c1.relay
  none_is_there "$source" "$test" "$golden"
  from_template new_op.cc "$source" "$name" "$stem"
  from_template op.relay "$test" "$name" "$stem"
  from_template op_c1.relay "$golden" "$name" "$stem"
}

# Passes have hyphens in their names, and files underscores: either is taken.
new_pass() {
  local name=${1//_/-}
  [[ $name =~ ^[a-z][a-z0-9]*(-[a-z0-9]+)*$ ]] || fail "'$1' is no pass name: say drop-casts"
  local stem=${name//-/_}
  local source=passes/$stem.cc golden=tests/golden/passes/$stem.relay
  none_is_there "$source" "$golden"
  from_template new_pass.cc "$source" "$name" "$stem"
  from_template pass.relay "$golden" "$name" "$stem"
}

case ${1:-} in
  op) new_op "${2:-}" ;;
  pass) new_pass "${2:-}" ;;
  *) fail "new what? ./dev new op NAME, or ./dev new pass NAME" ;;
esac
