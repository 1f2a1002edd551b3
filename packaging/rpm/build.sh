#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh [OUT] builds the source RPM and the RPMs for x86_64 and aarch64, and creates
# a repository. OUT (default: build/rpm) contains the repository as the directory repo and
# as a tarball, SHA256SUMS, and unsigned, which is reproducible from the commit. The script
# writes only to OUT, /tmp and Go's caches.
#
# VERSION       version of the package (default: packaging/version.sh)
# WORKTREE=1    use the files of the working tree instead of the commit
# ARCHITECTURES default: "x86_64 aarch64"
# CHECK=0       skip the unit tests of the spec
# KEY           OpenPGP key of $GNUPGHOME that signs the packages; without it, a test
#               key is created for this repository and deleted
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/deps.sh"
mkdir -p "${1:-$here/../../build/rpm}"
out=$(cd "${1:-$here/../../build/rpm}" && pwd)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

rm -rf "$out/unsigned" "$out/repo" "$out/SHA256SUMS" "$out"/hcp-node-agent_*_repository.tar.gz
mkdir -p "$out/unsigned" "$out/repo"
version=$("$here/sources.sh" "$work/sources")

# Reproducible on every machine, and readable by RHEL 8.2 and later.
options=(
  --define "_topdir $work" --define "_sourcedir $work/sources" --define "_rpmdir $work/rpms" --define "_srcrpmdir $work/rpms"
  --define "_dbpath $work/db" --define "_tmppath $work"
  --define "use_source_date_epoch_as_buildtime 1" --define "clamp_mtime_to_source_date_epoch 1" --define "_buildhost reproducible"
  --define "_binary_payload w12.zstdio" --define "_source_payload w9.gzdio"
  --define "_binary_filedigest_algorithm 8" --define "_source_filedigest_algorithm 8"
  --define "_libdir %{_prefix}/lib64" --define "_docdir_fmt %%{NAME}" --define "_sharedstatedir /var/lib"
)
# Debian has neither the packages of BuildRequires nor systemd's macros. deps.sh has
# checked that Go is installed.
if ! rpm --eval '%{?_presetdir}' | grep -q .; then
  options+=(--nodeps --macros "$(rpm --showrc | sed -n 's/^Macro path: //p'):$here/macros.systemd")
fi

# The source RPM contains the paths of the build. A fixed path makes it reproducible,
# so that concurrent builds have to wait for each other.
same=/tmp/hcp-node-agent-srpm
for ((turn = 0; turn < 60; turn++)); do
  mkdir -m 0700 "$same" 2>/dev/null && break
  [ "$turn" != 59 ] || { echo "build.sh: $same exists: another build is running, or was interrupted; then remove it" >&2; exit 1; }
  sleep 1
done
trap 'rm -rf "$work" "$same"' EXIT
cp -p "$work"/sources/* "$same/"
rpmbuild -bs "${options[@]}" --define "_sourcedir $same" --define "_builddir $same" --define "_buildrootdir $same" "$same/hcp-node-agent.spec" >"$out/rpmbuild.log" 2>&1 || { cat "$out/rpmbuild.log" >&2; exit 1; }
rm -rf "$same"
trap 'rm -rf "$work"' EXIT
native=$(uname -m)
for arch in ${ARCHITECTURES:-x86_64 aarch64}; do
  # Go cross-compiles without cgo. The tests run on the native architecture only.
  check=()
  { [ "$arch" = "$native" ] && [ "${CHECK:-1}" = 1 ]; } || check=(--without check)
  rpmbuild --rebuild --target "$arch" "${check[@]}" "${options[@]}" "$work/rpms/hcp-node-agent-$version"-*.src.rpm >>"$out/rpmbuild.log" 2>&1 ||
    { tail -40 "$out/rpmbuild.log" >&2; exit 1; }
done
find "$work/rpms" -name '*.rpm' -exec cp {} "$out/unsigned/" \;
cp "$out"/unsigned/*.rpm "$out/repo/"

"$here/sign.sh" "$out/repo"
cp -r "$out/repo" "$work/hcp-node-agent-repository"
"$here/../pack.sh" "$out/hcp-node-agent_${version/\~/-}_repository.tar.gz" "$work" hcp-node-agent-repository
(cd "$out" && find repo unsigned ./*.tar.gz -type f | LC_ALL=C sort | xargs sha256sum) >"$work/sums"
mv "$work/sums" "$out/SHA256SUMS"
echo "hcp-node-agent $version is in $out/repo"
