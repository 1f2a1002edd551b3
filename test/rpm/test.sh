#!/bin/bash
# test.sh: the RPM, without a machine: two builds with the same bytes, rpmlint, what
# the package says and holds, and dnf that installs, upgrades and removes it in an
# empty root. As root on Debian 12 (packaging/rpm/deps.sh). UPDATE=1 writes the golden
# files anew.
set -euo pipefail
cd "$(dirname "$0")/../.."
packaging/rpm/deps.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
export work root
# shellcheck source=test/rpm/root.sh
. test/rpm/root.sh

say() { printf '== %s\n' "$*"; }
die() {
  printf 'FAIL: %s\n' "$*" >&2
  exit 1
}
# same FILE: standard input is what the golden file says.
same() {
  cat >"$work/got"
  [ "${UPDATE:-0}" != 1 ] || cp "$work/got" "test/rpm/golden/$1"
  diff -u "test/rpm/golden/$1" "$work/got" || die "$1 is not as it was"
}
# is NAME WANT GOT
is() { [ "$2" = "$3" ] || die "$1: want '$2', got '$3'"; }

say 'versions sort'
tree=$work/tree
mkdir -p "$tree/packaging" && cp packaging/version.sh "$tree/packaging/" && echo 1.0.0 >"$tree/VERSION"
is 'version of a tree without git' 1.0.0-dev "$("$tree/packaging/version.sh")"
tree() { git -C "$tree" -c user.name=test -c user.email=test@example.com "$@"; }
tree init -q && tree add -A
before=
# sorts COMMAND...: the version after COMMAND sorts after the last one, as the version of the RPM.
sorts() {
  local now
  "$@"
  now=$("$tree/packaging/version.sh")
  now=${now/-/\~}
  [ -z "$before" ] || is "$before < $now" -1 "$(rpm --eval "%{lua:print(rpm.vercmp('$before', '$now'))}")"
  before=$now
}
sorts tree commit -q -m first
sorts touch "$tree/uncommitted"
rm "$tree/uncommitted"
for ((n = 2; n < 10; n++)); do tree commit -q --allow-empty -m "$n"; done
sorts tree commit -q --allow-empty -m tenth
sorts tree tag v1.0.0-rc.1
is 'version of a candidate' 1.0.0-rc.1 "$("$tree/packaging/version.sh")"
tree commit -q --allow-empty -m eleventh
sorts tree tag v1.0.0
is 'version of a release' 1.0.0 "$("$tree/packaging/version.sh")"
tree commit -q --allow-empty -m twelfth
if "$tree/packaging/version.sh" 2>"$work/released"; then die 'a released version was taken for a later commit'; fi
grep -q '1.0.0 has been released' "$work/released" || die "$(cat "$work/released")"
echo 1.0.1 >"$tree/VERSION"
sorts tree commit -q -a -m next

say 'two builds, one from another place: the same bytes'
commit=$(git rev-parse HEAD)
export VERSION=1.0.0 COMMIT=$commit WORKTREE=1
packaging/rpm/build.sh "$work/one"
git ls-files -z | xargs -0 cp --parents -Pt "$(mkdir -p "$work/elsewhere" && echo "$work/elsewhere")"
(
  cd "$work/elsewhere"
  epoch=$(git -C "$OLDPWD" log -1 --format=%ct)
  git init -q && git add -A # sources.sh asks git which files there are
  umask 077
  CHECK=0 SOURCE_DATE_EPOCH=$epoch TZ=Asia/Tokyo packaging/rpm/build.sh "$work/two"
)
(cd "$work/one/unsigned" && sha256sum ./*.rpm) >"$work/sums"
(cd "$work/two/unsigned" && sha256sum --quiet -c "$work/sums") || die 'the builds differ'
is packages 5 "$(wc -l <"$work/sums")"
(cd "$work/one" && sha256sum --quiet -c SHA256SUMS)

say 'rpmlint'
rpmlint --config packaging/rpm/hcp-node-agent.rpmlintrc.toml "$work"/one/repo/*.rpm >"$work/lint" 2>&1 || { cat "$work/lint"; die 'rpmlint'; }
grep -q ' 0 errors, 0 warnings' "$work/lint" || { cat "$work/lint"; die 'rpmlint warns'; }

say 'what it says, requires, runs and holds'
for arch in x86_64 aarch64; do
  for name in hcp-node-agent hcp-node-admin; do
    package=$work/one/unsigned/$name-1.0.0-1.$arch.rpm
    rpm -qp --requires --recommends --suggests "$package" | LC_ALL=C sort -u | same "$name/requires.$arch"
    rpm -qp --scripts "$package" | same "$name/scripts"
    rpm -qp --qf '[%{FILEMODES:perms} %{FILEUSERNAME} %{FILEFLAGS:fflags} %{FILENAMES}\n]' "$package" |
      grep -v -e "/licenses/$name/vendor/" -e "/doc/$name/" | same "$name/files"
    rpm -qp --qf '%{NAME} %{LICENSE} %{PAYLOADCOMPRESSOR} %{FILEDIGESTALGO} %{BUILDHOST}\n' "$package" | same "$name/says"
    rm -rf "$work/x" && mkdir "$work/x" && (cd "$work/x" && rpm2archive - <"$package" | tar xz "./usr/bin/$name")
    program=$work/x/usr/bin/$name
    readelf -hd "$program" >"$work/elf"
    go version -m "$program" >"$work/built"
    rpm -qp --provides "$package" >"$work/provides"
    rpm -qpl "$package" >"$work/list"
    grep -q 'DYN (Position-Independent' "$work/elf" || die "$arch: not a PIE"
    if grep NEEDED "$work/elf"; then die "$arch: it needs a library"; fi
    grep -q 'GOFIPS140=v1.0.0-' "$work/built" || die "$arch: not the certified module"
    grep -q 'DefaultGODEBUG=.*fips140=on' "$work/built" || die "$arch: not in FIPS mode"
    # a licence and a bundled() for every module that is in the program
    awk '$1 == "dep" { print $2 }' "$work/built" >"$work/modules"
    [ -s "$work/modules" ] || die "$arch: it tells no modules"
    while read -r module; do
      grep -qF "bundled(golang($module)) = " "$work/provides" || die "$arch: $module is not told of"
      grep -qiE "/licenses/$name/vendor/$module/(licen[cs]e|copying)" "$work/list" || die "$name $arch: $module has no licence there"
    done <"$work/modules"
  done
done
rpm -qpl "$work/one/unsigned/hcp-node-agent-1.0.0-1.x86_64.rpm" >"$work/list"
schema=$(grep -o '/usr/share/doc/hcp-node-agent/[^ `]*' docs/json.md)
grep -qxF "$schema" "$work/list" || die "docs/json.md names $schema, which does not exist"
rpm -qpl "$work/one/unsigned/hcp-node-admin-1.0.0-1.x86_64.rpm" >"$work/list"
for file in deploy/*; do
  grep -qxF "/usr/share/doc/hcp-node-admin/$file" "$work/list" || die "hcp-node-admin lacks $file"
done

say 'dnf: install from the signed repository'
for name in systemd:'systemd = 239' NetworkManager:x NetworkManager-ovs:x glibc:'rtld(GNU_HASH)' bash:/bin/sh; do
  standin "${name%%:*}" "${name#*:}"
done
createrepo_c --quiet "$work/standins/repo"
mkdir -p "$work/repos" "$work/log" "$work/vars" "$work/persist"
printf '[main]\ngpgcheck=1\nplugins=0\n' >"$work/dnf.conf"
printf '[standins]\nname=standins\nbaseurl=file://%s\ngpgcheck=0\n' "$work/standins/repo" >"$work/repos/standins.repo"
cp "$work/one/repo/hcp-node-agent.repo" "$work/repos/"
make_root
mkdir -m 0755 "$root/etc/hcp-node-agent" # as cloud-init makes it before the package is there
echo '{}' >"$root/etc/hcp-node-agent/user-data.ign"
does install systemd bash NetworkManager NetworkManager-ovs # a host has them before
asked >/dev/null
does install hcp-node-agent
is 'after the install' "$(printf -- '--no-reload preset hcp-node-agent.service hcp-node-agent.path\ndaemon-reload')" "$(asked)"
is 'directory of secrets' '700 root' "$(stat -c '%a %U' "$root/etc/hcp-node-agent")"
is 'state directory' '700 root' "$(stat -c '%a %U' "$root/var/lib/hcp-node-agent")"
is program "hcp-node-agent 1.0.0 (commit $commit," "$("$root/usr/bin/hcp-node-agent" version | cut -d' ' -f1-4)"
does remove hcp-node-agent
[ ! -e "$root/usr/bin/hcp-node-agent" ] || die 'it is still there'
[ -e "$root/etc/hcp-node-agent/user-data.ign" ] || die "the administrator's user data is gone"
is 'after the removal' '--no-reload disable --now hcp-node-agent.service hcp-node-agent.path' "$(asked)"

say 'dnf: the administrator package, alone'
does install hcp-node-admin
is 'after the install' "$(printf -- '--no-reload preset hcp-node-admin-approver.service\ndaemon-reload\n--no-block try-restart hcp-node-admin-approver.service')" "$(asked)"
is 'directory of enrollments' '700 root' "$(stat -c '%a %U' "$root/etc/hcp-node-admin")"
is program 'hcp-node-admin 1.0.0' "$("$root/usr/bin/hcp-node-admin" version | cut -d' ' -f1-2)"
is plugin 'hcp-node-admin 1.0.0' "$("$root/usr/bin/kubectl-hcp_node" version | cut -d' ' -f1-2)"
[ ! -e "$root/usr/bin/hcp-node-agent" ] || die 'the agent came along'
does remove hcp-node-admin
is 'after the removal' '--no-reload disable --now hcp-node-admin-approver.service' "$(asked)"
[ ! -e "$root/usr/bin/kubectl-hcp_node" ] || die 'the plugin still exists'

say 'kickstart: what examples/kickstart/post.ks makes the installer do'
section() { sed -n "/^%$1/,/^%end/p" examples/kickstart/post.ks | sed '1d;$d'; }
rm "$root/etc/hcp-node-agent/user-data.ign"
section packages >"$work/packages"
while read -r package; do does install "$package"; done <"$work/packages"
is 'packages of the kickstart file' hcp-node-agent "$(cat "$work/packages")"
mkdir -p "$root/etc/yum.repos.d" # RHEL has it
section post | chroot "$root" /bin/sh -e
sed -n '/^# cat .*hcp-node-agent\.repo/,/^EOT/p' docs/install.md | sed '1d;$d' >"$work/install.repo"
grep -qx gpgcheck=1 "$work/install.repo" || die 'docs/install.md has no repository whose packages are checked'
diff -u "$work/install.repo" "$root/etc/yum.repos.d/hcp-node-agent.repo" || die 'the repository is not that of docs/install.md'
is 'whose the repository is' '644 root' "$(stat -c '%a %U' "$root/etc/yum.repos.d/hcp-node-agent.repo")"
rm "$root/etc/yum.repos.d/hcp-node-agent.repo"
is 'the user data' 'CONTENT-OF-THE-USER-DATA' "$(cat "$root/etc/hcp-node-agent/user-data.ign")"
is 'whose the user data is' '600 root' "$(stat -c '%a %U' "$root/etc/hcp-node-agent/user-data.ign")"
asked >/dev/null
does remove hcp-node-agent
asked >/dev/null

say 'dnf: with nothing else than systemd and a shell it installs as well'
does remove NetworkManager NetworkManager-ovs
does install hcp-node-agent
does install NetworkManager NetworkManager-ovs
asked >/dev/null

say 'dnf: another version for a node, while it watches and while it joins'
VERSION=1.0.1 CHECK=0 ARCHITECTURES=$(uname -m) packaging/rpm/build.sh "$work/next"
sed 's/^\[.*/[next]/' "$work/next/repo/hcp-node-agent.repo" >"$work/repos/next.repo"
echo 'bridgeInterface: eth1' >>"$root/etc/hcp-node-agent/config.yaml"
# other VERSION STATE WANT...: dnf goes to VERSION, and asks that of systemctl
other() {
  echo "$2" >"$root/var/lib/hcp-node-agent/join.json"
  does "$3" hcp-node-agent
  is 'the other program' "hcp-node-agent $1" "$("$root/usr/bin/hcp-node-agent" version | cut -d' ' -f1-2)"
  shift 3
  is 'asked of systemctl' "$(printf '%s\n' daemon-reload "$@")" "$(asked)"
  grep -q eth1 "$root/etc/hcp-node-agent/config.yaml" || die 'the configuration was replaced'
}
other 1.0.1 '{"finished":"2026-01-01T00:00:00Z"}' upgrade '--no-block try-restart hcp-node-agent.service'
other 1.0.0 '{"lastStep":"client-certificate"}' downgrade

say 'dnf: a node keeps the package'
if in_root remove hcp-node-agent NetworkManager; then die 'dnf says that the removal succeeded'; fi
cp "$work/dnf.log" "$work/removal"
grep -q 'First give the host back: hcp-node-agent leave' "$work/removal" || { cat "$work/removal"; die 'the reason is not told'; }
[ ! -e "$root/stand-in/NetworkManager" ] || die 'the rest of the transaction was not done'
[ -e "$root/stand-in/NetworkManager-ovs" ] || die 'what the node lives on was removed along with it'
[ -x "$root/usr/bin/hcp-node-agent" ] || die 'the program is gone'
rpm --root "$root" -q hcp-node-agent >/dev/null || die 'rpm has forgotten it'
is 'asked for the refused removal' '' "$(asked)"
rm "$root/var/lib/hcp-node-agent/join.json"
does remove hcp-node-agent
[ ! -e "$root/usr/bin/hcp-node-agent" ] || die 'it is still there after leave'
grep -q eth1 "$root/etc/hcp-node-agent/config.yaml.rpmsave" || die 'a changed configuration is not saved'

say 'dnf: an unsigned package is refused'
mkdir "$work/forged"
cp "$work"/one/unsigned/*.rpm "$work/forged/"
createrepo_c --quiet "$work/forged"
rm "$work/repos/next.repo"
printf '[hcp-node-agent]\nname=forged\nbaseurl=file://%s\ngpgcheck=1\ngpgkey=file://%s\n' "$work/forged" "$work/one/repo/RPM-GPG-KEY" >"$work/repos/hcp-node-agent.repo"
if in_root install hcp-node-agent; then die 'dnf installs it'; fi
grep -q 'is not signed' "$work/dnf.log" || { cat "$work/dnf.log"; die 'it is refused for another reason'; }
say 'all as it should be'
