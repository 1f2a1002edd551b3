#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sources.sh DIRECTORY creates the sources for rpmbuild in DIRECTORY: two tarballs, and
# the spec with version, bundled modules and date. They are reproducible from the commit.
#
# VERSION is the version of the binaries (default: packaging/version.sh); the version
# of the package has a tilde in place of the dash. COMMIT is the commit that the binaries
# print. WORKTREE=1 uses the tracked files of the working tree instead of the commit.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/../.."
program_version=${VERSION:-$(packaging/version.sh)}
version=${program_version/-/\~} # 1.3.0~rc.1 is before 1.3.0
commit=${COMMIT:-$(git rev-parse HEAD)}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/hcp-node-agent-$version
mkdir "$tree"

if [ "${WORKTREE:-0}" = 1 ]; then
  git ls-files -z | xargs -0 cp --parents -Pt "$tree"
else
  git archive HEAD | tar -C "$tree" -x
fi

# modules PROGRAM prints the modules of a binary, for both architectures. go mod vendor
# also copies the modules of tests.
modules() {
  local arch
  for arch in amd64 arm64; do
    CGO_ENABLED=0 GOARCH=$arch go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}' "./cmd/node-$1"
  done | sort -u
}
cd "$tree"
for program in agent admin; do
  modules "$program" >"$work/modules-$program"
done
go mod vendor
for program in agent admin; do
  cut -d' ' -f1 "$work/modules-$program" >"packaging/rpm/modules-$program.txt"
done
# go mod vendor does not recognize all names of license files.
while read -r module; do
  dir=$(go list -mod=mod -m -f '{{.Dir}}' "$module")
  find "$dir" -maxdepth 1 -type f -iregex '.*/\(licen[cs]e\|copying\|notice\|patents\).*' -exec cp -n {} "vendor/$module/" \;
  if [ -z "$(find "vendor/$module" -maxdepth 1 -iregex '.*/\(licen[cs]e\|copying\).*')" ]; then
    echo "sources.sh: $module has no license file" >&2
    exit 1
  fi
done < <(sort -u packaging/rpm/modules-*.txt)

manual=with
[ ! -e cmd/node-agent/docs.go ] || manual=without # %bcond_without: built by default
# RPM versions contain no dash. The tilde sorts 0.0.0-2023… before 0.0.0.
bundled() {
  awk '{ sub(/^v/, "", $2); sub(/[+]incompatible$/, "", $2); gsub(/-/, "~", $2); printf "Provides:       bundled(golang(%s)) = %s\n", $1, $2 }' "$work/modules-$1"
}
date=$(LC_ALL=C TZ=UTC date -d "@$SOURCE_DATE_EPOCH" '+%a %b %d %Y')
commit_date=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
awk -v version="$version" -v program_version="$program_version" -v commit="$commit" -v commit_date="$commit_date" -v date="$date" -v manual="$manual" -v agent="$(bundled agent)" -v admin="$(bundled admin)" '
  /^@BUNDLED_AGENT@$/ { print agent; next }
  /^@BUNDLED_ADMIN@$/ { print admin; next }
  { gsub(/@VERSION@/, version); gsub(/@PROGRAM_VERSION@/, program_version); gsub(/@COMMIT@/, commit); gsub(/@COMMIT_DATE@/, commit_date); gsub(/@DATE@/, date); gsub(/@MANUAL@/, manual); print }
' packaging/rpm/hcp-node-agent.spec >"$out/hcp-node-agent.spec"

packaging/pack.sh "$out/hcp-node-agent-$version.tar.gz" "$work" --exclude="hcp-node-agent-$version/vendor" "hcp-node-agent-$version"
packaging/pack.sh "$out/hcp-node-agent-$version-vendor.tar.gz" "$tree" vendor
# The SRPM contains modes and times, which must not depend on the build host.
chmod 0644 "$out"/*
touch -d "@$SOURCE_DATE_EPOCH" "$out"/*
echo "$version"
