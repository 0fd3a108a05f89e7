#!/usr/bin/env bash
# Golden traces: the simulator's results for every scenario of the repository, packet by packet,
# must stay the same to the byte. An intended change renews the digests, with the reason in its
# commit.
# usage: golden.sh PROGRAM                 compare with the digests of validation/golden.txt
#        golden.sh PROGRAM --renew         write them
#        golden.sh PROGRAM --base REVISION compare with the results of that revision, after the renamings of
#                                          validation/renamed-keys.tsv; REVISION may also be a built program
set -euo pipefail

program=$(realpath "$1") mode=${2:-} base=${3:-}
digests=validation/golden.txt renamed=validation/renamed-keys.tsv
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

# Simulated seconds of a network: some 100 000 packet-hops; the last flow of `striped` starts after
# a minute.
seconds_of() { # SCENARIO
  case $1 in
    scenarios/striped.toml) echo 70 ;;
    *) echo 2 ;;
  esac
}

# Writes the traces of every scenario below the folder $2.
trace() { # PROGRAM FOLDER
  local file name settings
  for file in scenarios/*.toml validation/scenarios/*.toml; do
    name=$(tr / - <<<"${file%.toml}")
    if grep -q '^\[\[flow\]\]' "$file"; then
      settings=(--set "run.warm_up=0 s" --set "run.duration=$(seconds_of "$file") s"
        --events "$2/$name.events" --events-level packets)
    elif grep -q '^\[media\]' "$file"; then
      settings=(--set "media.duration=5 s" --set media.runs=2)
    else
      settings=(--set transfer.count=4)
    fi
    "$1" sim "$file" "${settings[@]}" --seed 7 --format json --out "$2/$name" >/dev/null 2>"$here/log" \
      || { echo "golden: $file:" >&2; cat "$here/log" >&2; return 1; }
    # Plots and pages may change.
    rm -f "$2/$name"/*.html "$2/$name"/*.svg
  done
}

# Applies the renamings to JSON keys and values and to CSV columns in the folder $1.
rename_keys() { # FOLDER
  awk -F'\t' '$1 == "report" || $1 == "events" { printf "s/\"%s\"/\"%s\"/g\n", $2, $3 }' "$renamed" >"$here/json.sed"
  awk -F'\t' '$1 == "csv" { printf "1s/(^|,)%s(,|$)/\\1%s\\2/g\n", $2, $3 }' "$renamed" >"$here/csv.sed"
  find "$1" -name '*.csv' -exec sed -E -i -f "$here/csv.sed" {} +
  find "$1" \( -name '*.json' -o -name '*.events' \) -exec sed -i -f "$here/json.sed" {} +
}

digests_of() { # FOLDER
  (cd "$1" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum)
}

mkdir "$here/now"
trace "$program" "$here/now"
digests_of "$here/now" >"$here/now.txt"
count=$(wc -l <"$here/now.txt")
case $mode in
  --renew)
    cp "$here/now.txt" "$digests"
    echo "golden: $count traces written to $digests"
    ;;
  --base)
    mkdir "$here/base"
    built=$(scripts/build-revision.sh "$base")
    trace "$built" "$here/base"
    rename_keys "$here/base"
    digests_of "$here/base" >"$here/base.txt"
    diff "$here/base.txt" "$here/now.txt" \
      || { echo "golden: traces differ from those of $base" >&2; exit 1; }
    echo "golden: $count traces are the same as those of $base"
    ;;
  *)
    diff "$digests" "$here/now.txt" \
      || { echo "golden: traces differ from $digests; if intended: make golden RENEW=--renew" >&2; exit 1; }
    echo "golden: $count traces are the same as in $digests"
    ;;
esac
