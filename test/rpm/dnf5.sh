#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dnf5.sh: build a directory with the commands dnf and rpm, which run dnf5 and rpm 6 of the
# newest suite of Debian, or find it in the cache, and print it. The tests with the real dnf
# use it with HCP_TEST_DNF; see test/rpms.
set -euo pipefail
suite=sid
# shellcheck source=test/image/lib/common.sh
. "$(dirname "$0")/../image/lib/common.sh"
# shellcheck source=test/image/lib/mirrors.sh
. "$here/lib/mirrors.sh"

[ "$(id -u)" = 0 ] || die "needs root (chroot): run it with sudo"

# build OUT: a root directory, and the commands that run programs in it. They see /tmp and
# /proc of the host, and have its network.
build() {
  local out=$1 options=() sources option
  while read -r option; do options+=(--aptopt="$option"); done < <(apt_options)
  mapfile -t sources < <(sources_list deb)
  mmdebstrap --mode=root --variant=minbase --format=directory --components=main --include=dnf5,gpg,gpg-agent \
    --aptopt='APT::Install-Recommends "false"' "${options[@]}" --dpkgopt='force-unsafe-io' \
    --dpkgopt='path-exclude=/usr/share/locale/*' "$suite" "$out/root" "${sources[@]}"
  mkdir "$out/bin"
  cat >"$out/bin/dnf5" <<'EOT'
#!/bin/sh
# Runs the program with this name in the root directory, in a mount namespace of its own.
# shellcheck disable=SC2016 # the inner shell expands its arguments
exec unshare --mount --propagation private sh -euc '
  root=$1; shift
  mount --rbind /tmp "$root/tmp"; mount --rbind /proc "$root/proc"
  exec chroot "$root" "$@"' sh "$(dirname "$0")/../root" "$(basename "$(readlink -f "$0")")" "$@"
EOT
  chmod 755 "$out/bin/dnf5"
  cp "$out/bin/dnf5" "$out/bin/rpm"
  ln -s dnf5 "$out/bin/dnf"
}

printf '%s/bin\n' "$(part dnf5 "$(key "$here/../rpm/dnf5.sh" "$suite")" build)"
