#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# repository.sh TARBALL tests the repository of packages, as root: install.sh in a root
# directory, and the installation by the real dnf from a directory and from a web server,
# which must refuse what is not signed with the key.
set -euo pipefail
tarball=$(realpath "${1:?usage: repository.sh TARBALL}")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
root=$work/root
server=
trap '[ -z "$server" ] || kill "$server"; gpgconf --kill all; rm -rf "$work"' EXIT
export work root GNUPGHOME=$work/gnupg
# shellcheck source=test/rpm/root.sh
. test/rpm/root.sh
opt=$root/opt/hcp-node-agent-repository
repo=$root/etc/yum.repos.d/hcp-node-agent.repo
key=$root/etc/pki/rpm-gpg/RPM-GPG-KEY-hcp-node-agent

# host_dnf ARGUMENTS runs dnf_in_root with the repository files, the keys and /opt of the
# root directory, whose names dnf would otherwise resolve outside of it.
host_dnf() {
  rm -rf "$work/cache"
  # shellcheck disable=SC2016 # expanded by the shell in the namespace
  unshare --mount bash -euc '
    . test/rpm/root.sh
    mount -t overlay -o "lowerdir=$root/etc:/etc" overlay /etc
    mount --bind "$root/opt" /opt
    dnf_in_root --setopt=reposdir=/etc/yum.repos.d "$@"' - "$@"
}
# installs ARGUMENTS: dnf installs the agent with them, and the test removes it.
installs() {
  host_dnf "$@" || { cat "$work/dnf.log"; die "dnf $*"; }
  equal version 'hcp-node-agent' "$("$root/usr/bin/hcp-node-agent" version | cut -d' ' -f1)"
  host_dnf remove hcp-node-agent || { cat "$work/dnf.log"; die 'dnf remove hcp-node-agent'; }
}
# refuses REASON: dnf installs nothing, and prints the reason.
refuses() {
  if host_dnf install hcp-node-agent; then die "dnf installed the package: want '$1'"; fi
  grep -q "$1" "$work/dnf.log" || { cat "$work/dnf.log"; die "want '$1'"; }
  [ ! -e "$root/usr/bin/hcp-node-agent" ] || die "the binary exists: want '$1'"
}
files() { (cd "$root" && find etc -type f -exec sha256sum {} + | LC_ALL=C sort -k2); }

make_root
mkdir -p "$root"/{root,opt} "$root"/etc/{yum.repos.d,pki/rpm-gpg}
standin distribution '/bin/sh, rtld(GNU_HASH), systemd = 252'
createrepo_c --quiet "$work/standins/repo"
printf '[standins]\nname=standins\nbaseurl=file://%s\ngpgcheck=0\n' "$work/standins/repo" >"$root/etc/yum.repos.d/standins.repo"
printf '[main]\ngpgcheck=1\nplugins=0\n' >"$work/dnf.conf"
mkdir -p "$work"/{log,vars,persist,served}

section 'the first step of the README: from the tarball, without network'
sed -n '/^1\. /,/^2\. /p' README.md | awk '/```/ { code = !code; next } code { sub(/^   /, ""); print }' >"$work/readme"
equal 'last command of the step' 'dnf install hcp-node-agent' "$(tail -1 "$work/readme")"
cp "$tarball" "$root/root/"
(umask 077 && chroot "$root" /bin/sh -ec "cd /root; $(cat "$work/readme")")
equal 'calls of dnf' 'dnf install hcp-node-agent' "$(logged dnf)"
cmp "$opt/RPM-GPG-KEY" "$key"
equal 'modes' '644 644' "$(stat -c %a "$repo" "$key" | xargs)"
equal 'files below /etc' 'etc/pki/rpm-gpg/RPM-GPG-KEY-hcp-node-agent etc/yum.repos.d/hcp-node-agent.repo etc/yum.repos.d/standins.repo' \
  "$(files | awk '{ print $2 }' | xargs)"
want=$(printf '%s\n' '[hcp-node-agent]' name=hcp-node-agent baseurl=URL \
  gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-hcp-node-agent enabled=1 gpgcheck=1 repo_gpgcheck=1)
equal 'the repository file' "${want/URL/file:///opt/hcp-node-agent-repository}" "$(cat "$repo")"
host_dnf install distribution || die 'the packages of every host'
installs install hcp-node-agent
for page in install air-gapped; do # the same commands, except for dnf on disconnected hosts
  head -n -1 "$work/readme" | while read -r line; do
    grep -qxF "$line" "docs/$page.md" || die "docs/$page.md lacks: $line"
  done
done
eval "installs $(sed -n 's/^dnf \(.* install hcp-node-agent\)$/\1/p' docs/air-gapped.md)"

section 'from a web server, with the URL as the argument'
cp -r "$opt" "$work/served/repository"
python3 -u -m http.server --bind 127.0.0.1 --directory "$work/served" 0 >"$work/server.log" 2>&1 &
server=$!
while ! url=$(grep -om1 'http://127.0.0.1:[0-9]*' "$work/server.log")/repository; do
  kill -0 "$server" || { cat "$work/server.log"; die 'the web server'; }
  sleep 0.1
done
chroot "$root" /bin/sh -c "$(sed -n "s|^\(/opt/.*/install.sh\) https://packages.example.com/hcp-node-agent$|\1 $url/|p" docs/install.md)"
equal 'the repository file' "${want/URL/$url}" "$(cat "$repo")"
rm -r "${opt:?}"/*.rpm "${opt:?}/repodata"
installs install hcp-node-agent
grep -q 'GET /repository/hcp-node-agent-[^ ]*\.rpm ' "$work/server.log" || die 'the web server did not serve the package'

section 'the repository file of the repository, with its variable'
cp "$repo" "$work/installed.repo"
cp "$work/served/repository/hcp-node-agent.repo" "$repo"
echo "$url" >"$work/vars/hcp_node_agent_url"
installs install hcp-node-agent
rm "$work/vars/hcp_node_agent_url"
cp "$work/installed.repo" "$repo"

section 'dnf refuses another key, a changed package and changed metadata'
mkdir -m 0700 "$GNUPGHOME"
gpg --batch --quiet --passphrase '' --quick-generate-key 'another test key' rsa3072 sign 1d
cp "$key" "$work/key"
gpg --batch --armor --export >"$key"
refuses 'repomd.xml GPG signature verification error: Bad GPG signature'
cp "$work/key" "$key"
for package in "$work"/served/repository/hcp-node-agent-[0-9]*."$(uname -m)".rpm; do
  printf changed | dd of="$package" bs=1 seek=100000 conv=notrunc status=none
done
refuses 'checksum doesn.t match'
createrepo_c --quiet --update "$work/served/repository"
refuses 'repomd.xml GPG signature verification error: Bad GPG signature'

section 'install.sh refuses bad input and changes nothing'
rm -r "$opt" && cp -r "$work/served/repository" "$opt"
before=$(files)
# bad WANT COMMAND [ARGUMENT...]: install.sh fails with one line, which begins with WANT.
bad() {
  local want=$1 status=0
  shift
  chroot --userspec="${user:-0:0}" "$root" "$@" >"$work/out" 2>&1 || status=$?
  equal "status of $*" 1 "$status"
  equal "lines of $*" 1 "$(wc -l <"$work/out")"
  case $(cat "$work/out") in "install.sh: $want"*". Nothing was changed.") ;; *) die "$*: want '$want', got '$(cat "$work/out")'" ;; esac
  equal "files after $*" "$before" "$(files)"
}
install=/opt/hcp-node-agent-repository/install.sh
for argument in '' ftp://packages.example.com/ /opt http:///repository --help packages.example.com; do
  bad 'the argument is not an http or https URL' $install "$argument"
done
# shellcheck disable=SC2016 # the dollar is part of the URL
for argument in 'https://user:password@example.com/' 'https://a.example/$releasever' 'https://a.example/a b' 'https://a.example/a|b' \
  'https://a.example/&' $'https://a.example/\nenabled=0'; do
  bad 'the URL contains a character that is not permitted' $install "$argument"
done
bad 'more than one argument' $install "$url" "$url"
user=65534:65534 bad '/etc/yum.repos.d is not writable: run install.sh as root' $install
# without FILE WANT: install.sh fails while the file does not exist.
without() {
  mv "$1" "$work/moved"
  before=$(files)
  bad "$2" $install
  mv "$work/moved" "$1"
  before=$(files)
}
without "$opt/repodata" '/opt/hcp-node-agent-repository contains no repository'
without "$opt/hcp-node-agent.repo" '/opt/hcp-node-agent-repository does not contain hcp-node-agent.repo'
without "$opt/RPM-GPG-KEY" '/opt/hcp-node-agent-repository/RPM-GPG-KEY is not a public key'
without "$root/etc/pki" '/etc/pki/rpm-gpg does not exist'
mv "$opt" "$root/opt/with space"
bad 'the path /opt/with space contains a character' '/opt/with space/install.sh'
