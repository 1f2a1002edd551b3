#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Print the version of the checkout, by the file VERSION and the tags. With VERSION 1.2.0:
#
#   1.2.0                     the commit with the tag v1.2.0
#   1.2.0-rc.1                the commit with the tag v1.2.0-rc.1
#   1.2.0-dev.964.gabc123456  other commits, with the number of commits and the hash
#   1.2.0-dev                 a tree without git
#
# Uncommitted changes append .dirty to a snapshot, and make a snapshot of a tagged commit. Snapshots sort before
# candidates, and candidates before the release. Container registries accept each version as a tag. The version of the
# RPM has a tilde in place of the dash.
set -euo pipefail
cd "$(dirname "$0")/.."
base=$(<VERSION)
if [[ ! $base =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
	echo "version.sh: VERSION contains '$base', which is not of the form 1.2.0" >&2
	exit 1
fi
# A tree inside another repository is not a checkout.
if [ ! -e .git ]; then
	echo "$base-dev"
	exit
fi
changes=$(git status --porcelain)
dirty=${changes:+.dirty}
tag=$(git tag --points-at HEAD --list "v$base" "v$base-rc.*" | head -n 1)
if [ -n "$tag" ] && [ -z "$dirty" ]; then
	echo "${tag#v}"
	exit
fi
if [ -z "$tag" ] && git merge-base --is-ancestor "v$base" HEAD 2>/dev/null; then
	echo "version.sh: $base has been released; write the next version to the file VERSION" >&2
	exit 1
fi
count=$(git rev-list --count HEAD)
hash=$(git rev-parse --short=9 HEAD)
echo "$base-dev.$count.g$hash$dirty"
