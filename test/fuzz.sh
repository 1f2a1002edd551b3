#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh: run every fuzz target of the project in turn, each for EXECS inputs
# (default 50000; a target with a build tag runs real programs and gets one for
# 200 of them). They are found in the sources, so that none is forgotten. What
# fails stays as a file in the package's testdata/fuzz, and fails go test too.
#
# The inputs are counted because a time is not safe: when it is over, Go before
# 1.27 may report a failure without an input that fails, "context deadline
# exceeded" (https://go.dev/issue/75804).
set -euo pipefail
cd "$(dirname "$0")/.."
execs=${EXECS:-50000}

found=0
while IFS=: read -r file line; do
  target=${line#func }
  target=${target%%(*}
  tags=$(sed -n 's,^//go:build \([a-z]*\)$,\1,p' "$file")
  inputs=$execs
  if [ -n "$tags" ]; then
    inputs=$(((execs + 199) / 200))
  fi
  echo "== $target in $(dirname "$file"), $inputs inputs" >&2
  # Shrinking what fails would take longer than the run.
  go test -tags "$tags" -run '^$' -fuzz "^$target\$" -fuzztime "${inputs}x" -fuzzminimizetime 10x "./$(dirname "$file")"
  found=$((found + 1))
done < <(grep -r --include='*_test.go' -E '^func Fuzz[A-Za-z0-9]*\(' --exclude-dir=controlplane -- cmd internal test)

if [ "$found" = 0 ]; then
  echo "fuzz: there is no fuzz target in the sources" >&2
  exit 1
fi
echo "== $found fuzz targets found nothing" >&2
