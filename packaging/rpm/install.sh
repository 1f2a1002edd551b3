#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh [URL]: add the repository of hcp-node-agent to this host, as root. The packages are those in the directory
# of this script or, with URL, in a copy of this directory on a web server. Two files are written: the repository file,
# and the public key of this directory, with which dnf verifies packages and metadata. The network is not used.
set -eu
LC_ALL=C
umask 022
target=/etc/yum.repos.d/hcp-node-agent.repo
key=/etc/pki/rpm-gpg/RPM-GPG-KEY-hcp-node-agent
directory=$(cd "$(dirname "$0")" && pwd)

fail() {
	echo "install.sh: $*. Nothing was changed." >&2
	exit 1
}

[ $# -le 1 ] || fail 'more than one argument. Usage: install.sh [URL]'
if [ $# = 1 ]; then
	url=${1%/}
	# Every user can read the repository file, therefore "@" after a password is refused too.
	case $url in
	*[!]A-Za-z0-9._~:/+=%[-]*) fail 'the URL contains a character that is not permitted, such as "@", "?" or a space' ;;
	http://[!/]* | https://[!/]*) ;;
	*) fail 'the argument is not an http or https URL. Usage: install.sh [URL]' ;;
	esac
else
	url=file://$directory
	case $directory in
	*[!A-Za-z0-9._~/+=-]*) fail "the path $directory contains a character that is not permitted in a URL. Move the directory" ;;
	esac
	[ -f "$directory/repodata/repomd.xml" ] || fail "$directory contains no repository (repodata/repomd.xml)"
fi
[ -f "$directory/hcp-node-agent.repo" ] || fail "$directory does not contain hcp-node-agent.repo: unpack the whole archive"
grep -qs '^-----BEGIN PGP PUBLIC KEY BLOCK-----$' "$directory/RPM-GPG-KEY" || fail "$directory/RPM-GPG-KEY is not a public key"
for parent in "${target%/*}" "${key%/*}"; do
	[ -d "$parent" ] || fail "$parent does not exist: this host does not use dnf"
	[ -w "$parent" ] || fail "$parent is not writable: run install.sh as root"
done

cp "$directory/RPM-GPG-KEY" "$key"
sed "/^#/d; s|=\$hcp_node_agent_url/RPM-GPG-KEY\$|=file://$key|; s|=\$hcp_node_agent_url\$|=$url|" \
	"$directory/hcp-node-agent.repo" >"$target"
chmod 0644 "$target" "$key"
echo "Added the repository $url. Next: dnf install hcp-node-agent"
