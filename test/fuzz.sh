#!/bin/bash
# fuzz.sh: run every fuzz target of the project in turn, each for FUZZTIME
# (default 10s). They are found in the sources, so that none is forgotten. What
# fails stays as a file in the package's testdata/fuzz, and fails go test too.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${FUZZTIME:-10s}

found=0
while IFS=: read -r file line; do
  target=${line#func }
  target=${target%%(*}
  tags=$(sed -n 's,^//go:build \([a-z]*\)$,\1,p' "$file")
  echo "== $target in $(dirname "$file"), $time" >&2
  # Shrinking what fails would take longer than the run.
  go test -tags "$tags" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x "./$(dirname "$file")"
  found=$((found + 1))
done < <(grep -r --include='*_test.go' -E '^func Fuzz[A-Za-z0-9]*\(' --exclude-dir=controlplane -- cmd internal test)

if [ "$found" = 0 ]; then
  echo "fuzz: there is no fuzz target in the sources" >&2
  exit 1
fi
echo "== $found fuzz targets found nothing" >&2
