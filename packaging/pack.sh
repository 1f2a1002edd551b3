#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pack.sh FILE DIRECTORY PATH...: write the paths in DIRECTORY to the tar archive FILE, with gzip if it ends in .gz. The
# archive does not depend on the owner, the time and the order of the files.
set -euo pipefail
file=$1 directory=$2
shift 2
pack() {
	tar -C "$directory" --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
		--mtime="@$SOURCE_DATE_EPOCH" -cf - "$@"
}
case $file in
*.gz) pack "$@" | gzip -n >"$file" ;;
*) pack "$@" >"$file" ;;
esac
