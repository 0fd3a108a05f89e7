#!/usr/bin/env bash
# Checks the models of models/README.md: those that run the session's code within their bounds, that
# deliberate defects violate them, and those of Verifpal against their expected results.
# usage: models.sh TARGET OUTPUT [--reduced | --deep]
#   TARGET      the target directory of cargo
#   OUTPUT      the directory for complete Verifpal models and the sources with defects
#   --reduced   smaller bounds, the Verifpal models that take seconds, and of the defects only whether
#               each has its place in the sources
#   --deep      larger bounds
# Exit code 1 if any result differs from the expected one.
set -uo pipefail
cd "$(dirname "$0")/.."

target=$1 output=$2 size=${3:-}
case $size in
  '' | --reduced | --deep) ;;
  *) echo "models: unknown size \`$size\`: --reduced, --deep, or none" >&2; exit 2 ;;
esac
verifpal_version=1.6.7
failed=()

# It is a program under the GPL, so it is only run. It declares a newer compiler than it needs.
install_verifpal() {
  "$target/verifpal/bin/verifpal" --version 2>/dev/null | grep -qw "$verifpal_version" \
    || cargo install --quiet verifpal --version "$verifpal_version" --locked --ignore-rust-version \
      --force --root "$target/verifpal" >"$output/install.log" 2>&1
}

check_verifpal() {
  local models=()
  if ! install_verifpal; then
    echo "verifpal: skipped: cannot install it: $(tail -n 1 "$output/install.log")"
    return 0
  fi
  if [ "$size" = --reduced ]; then
    mapfile -t models < <(grep -L '^//@ slow$' models/verifpal/*.vp)
    models=("${models[@]##*/}") && models=("${models[@]%.vp}")
  fi
  models/verifpal.py "$target/verifpal/bin/verifpal" "$output/verifpal" "${models[@]}"
}

mkdir -p "$output"
cargo build --quiet --release --locked --manifest-path models/Cargo.toml \
  --target-dir "$target/models" || exit 1
"$target/models/release/polypath-models" ${size:+"$size"} || failed+=("exploration")
if [ "$size" = --reduced ]; then
  models/mutants.py --places || failed+=("places of defects")
else
  models/mutants.py "$output/mutants" "$target/mutants" || failed+=("defects")
fi
check_verifpal || failed+=("Verifpal")
[ ${#failed[@]} -eq 0 ] || { echo "models: failed: ${failed[*]}" >&2; exit 1; }
