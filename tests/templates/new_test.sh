#!/usr/bin/env bash
# What `./dev new` refuses, and that it writes over nothing.
set -euo pipefail

new=$PWD/tools/new.sh
export RELAY_TEMPLATES=$PWD/tools/templates
cd "$(mktemp -d)"

# refused WORDS ARGUMENTS...: exit code 2, the words on standard error, and no file.
refused() {
  local words=$1 code=0
  shift
  "$new" "$@" 2>messages >output || code=$?
  [[ $code == 2 ]] || { echo "new.sh $*: exit code $code"; exit 1; }
  grep -qF -- "$words" messages || { echo "new.sh $*: no '$words' in: $(cat messages)"; exit 1; }
  rm messages output
  [[ -z $(ls) ]] || { echo "new.sh $* left: $(ls)"; exit 1; }
}

refused "new what?"
refused "new what?" engine x
refused "is no operator name" op
refused "is no operator name" op "nn.Gelu"
refused "is no operator name" op "../../etc/x"
refused "is no operator name" op 'nn.a|b'
refused "is no pass name" pass "Drop-Casts"
refused "is no pass name" pass "drop--casts"
refused "is no pass name" pass "-"

"$new" op nn.gelu >/dev/null
"$new" pass drop_casts >/dev/null
[[ $(find . -type f | sort | tr '\n' ' ') == "./op/nn/gelu.cc ./passes/drop_casts.cc ./tests/exec/op/nn.gelu.relay \
./tests/golden/passes/drop_casts.relay ./tests/golden/typecheck/fail_nn.gelu_c1.relay " ]] || { find . -type f; exit 1; }
grep -q 'name = "drop-casts"' passes/drop_casts.cc
if grep -rn '@[A-Z_]*@\|kTemplate\|TemplateAttrs' .; then
  echo "these blanks were not filled in"
  exit 1
fi
if "$new" op nn.gelu 2>/dev/null; then
  echo "an operator was written over"
  exit 1
fi
