#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh: build the release twice, in build/release and from a clone, and check the files. As root, with buildah, from a
# checkout without changes.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() { printf '== %s\n' "$*"; }
die() {
	printf 'FAIL: %s\n' "$*" >&2
	exit 1
}
# is NAME WANT GOT
is() { [ "$2" = "$3" ] || die "$1: want '$2', got '$3'"; }

unset KEY VERSION SOURCE_DATE_EPOCH
for tool in buildah jq; do
	command -v "$tool" >/dev/null || die "$tool is missing"
done
[ -z "$(git status --porcelain)" ] || die 'the checkout has changes, which a clone does not contain'
version=$(packaging/version.sh)
commit=$(git rev-parse HEAD)
date=$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)
out=build/release

step 'two builds, one from a clone: the same bytes, except for the signatures'
packaging/release.sh
git clone -q . "$work/clone"
(umask 077 && TZ=Asia/Tokyo CHECK=0 "$work/clone/packaging/release.sh" "$work/again")
diff -u "$out/SHA256SUMS.unsigned" "$work/again/SHA256SUMS.unsigned" || die 'the builds differ'
(cd "$work/again" && sha256sum --quiet -c SHA256SUMS)
sorted() { printf '%s\n' "$@" | LC_ALL=C sort; }
# sums FILE: the names in a list of checksums, as sorted.
sums() { awk '{ print $2 }' "$1" | LC_ALL=C sort; }
unsigned=(hcp-node-{acceptance,agent}_"${version}"_linux_{amd64,arm64}.{cdx.json,tar.gz}
	hcp-node-admin_"${version}"_{darwin,linux}_{amd64,arm64}.{cdx.json,tar.gz} hcp-node-admin_"${version}"_{bundle.tar.gz,chart.tar.gz,image.tar})
tarball=hcp-node-agent_${version}_repository.tar.gz
packages=(hcp-node-{admin,agent}-"${version/-/\~}"-1.{aarch64,x86_64}.rpm hcp-node-agent-"${version/-/\~}"-1.src.rpm
	hcp-node-agent-selinux-"${version/-/\~}"-1.noarch.rpm)
is files "$(sorted SHA256SUMS{,.unsigned} repository "${unsigned[@]}" "$tarball")" "$(LC_ALL=C ls "$out")"
is SHA256SUMS "$(sorted "${unsigned[@]}" "$tarball")" "$(sums "$out/SHA256SUMS")"
is SHA256SUMS.unsigned "$(sorted "${unsigned[@]}" "${packages[@]}")" "$(sums "$out/SHA256SUMS.unsigned")"

step 'the repository: the directory, the tarball, and installations from them'
is repository "$(sorted RPM-GPG-KEY hcp-node-agent.repo install.sh repodata "${packages[@]}")" "$(LC_ALL=C ls "$out/repository")"
is 'what a web server cannot read' '' "$(find "$work/again" ! -perm -444)"
tar -C "$work" -xzf "$out/$tarball"
diff -r "$out/repository" "$work/hcp-node-agent-repository"
test/rpm/repository.sh "$out/$tarball"

step 'SBOMs'
for sbom in "$out"/*.cdx.json; do
	jq -r '[.bomFormat, .metadata.component.name, .metadata.component.version, .metadata.timestamp] | @tsv' "$sbom" >"$work/got"
	is "$sbom" "$(printf '%s\t' CycloneDX github.com/hcp-node-agent/hcp-node-agent "v$version" "$date")" "$(tr '\n' '\t' <"$work/got")"
	binary=${sbom##*/}
	tar -C "$work" -xzf "${sbom%.cdx.json}.tar.gz"
	go version -m "$work/${binary%.cdx.json}/${binary%%_*}" | awk '$1 == "dep" { print $2, $3 }' | LC_ALL=C sort >"$work/modules"
	grep -q '^k8s.io/client-go v' "$work/modules" || die "${sbom##*/}: the binary contains no client-go"
	jq -r '.components[] | select(.name != "std") | "\(.name) \(.version)"' "$sbom" | LC_ALL=C sort | diff -u "$work/modules" - || die "$sbom"
	jq -e --arg go "$(go env GOVERSION)" '.components[] | select(.name == "std") | .version == $go' "$sbom" >/dev/null || die "$sbom: the version of Go"
done

step 'binaries: version and licenses'
native=linux_$(go env GOARCH)
for program in agent admin; do
	tree=$work/hcp-node-${program}_${version}_$native
	is "hcp-node-$program" "$version $commit $date" \
		"$("$tree/hcp-node-$program" version -o json | jq -r '"\(.version) \(.commit) \(.commitDate)"')"
	while read -r module _; do
		[ -n "$(ls "$tree/licenses/$module")" ] || die "hcp-node-$program has no license of $module"
	done < <(go version -m "$tree/hcp-node-$program" | awk '$1 == "dep" { print $2 }')
done
diff -r deploy "$tree/deploy"

step 'image: configuration, content, and the binary in it'
mkdir "$work/image" "$work/root"
tar -C "$work/image" -xf "$out/hcp-node-admin_${version}_image.tar"
blob() { echo "$work/image/blobs/${1/://}"; }
is tag "$version" "$(jq -r '.manifests[0].annotations["org.opencontainers.image.ref.name"]' "$work/image/index.json")"
index=$(blob "$(jq -r '.manifests[0].digest' "$work/image/index.json")")
is platforms 'linux/amd64 linux/arm64' "$(jq -r '[.manifests[].platform | "\(.os)/\(.architecture)"] | sort | join(" ")' "$index")"
for architecture in amd64 arm64; do
	manifest=$(blob "$(jq -r --arg a "$architecture" '.manifests[] | select(.platform.architecture == $a) | .digest' "$index")")
	is configuration "$architecture 65532:65532 [\"/usr/bin/hcp-node-admin\"] $version $commit" "$(jq -r \
		'"\(.architecture) \(.config.User) \(.config.Entrypoint | tojson) \(.config.Labels["org.opencontainers.image.version"]) \(.config.Labels["org.opencontainers.image.revision"])"' \
		"$(blob "$(jq -r .config.digest "$manifest")")")"
	rm -rf "$work/root" && mkdir "$work/root"
	for layer in $(jq -r '.layers[].digest' "$manifest"); do
		tar -C "$work/root" -xzf "$(blob "$layer")"
	done
	is content 'licenses usr usr/bin usr/bin/hcp-node-admin' "$(cd "$work/root" && find . -mindepth 1 ! -path './licenses/*' -printf '%P\n' | LC_ALL=C sort | xargs)"
	cmp "$work/root/usr/bin/hcp-node-admin" "$work/hcp-node-admin_${version}_linux_$architecture/hcp-node-admin"
	if [ "$architecture" = "$(go env GOARCH)" ]; then
		is 'version in the image' "hcp-node-admin $version" \
			"$(chroot --userspec=65532:65532 "$work/root" /usr/bin/hcp-node-admin version | cut -d' ' -f1-2)"
	fi
done
step 'everything as expected'
