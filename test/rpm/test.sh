#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test.sh tests the RPMs without a machine: reproducible builds, rpmlint, metadata and
# contents, the SELinux module, the sos plugin, installation, upgrade and removal by
# dnf in a root directory, and the repository (repository.sh). Run it as root on Debian 12;
# packaging/rpm/deps.sh installs the dependencies. UPDATE=1 updates the golden files.
set -euo pipefail
cd "$(dirname "$0")/../.."
packaging/rpm/deps.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
export work root
# shellcheck source=test/rpm/root.sh
. test/rpm/root.sh

# golden FILE compares standard input with a golden file.
golden() {
  cat >"$work/got"
  [ "${UPDATE:-0}" != 1 ] || cp "$work/got" "test/rpm/golden/$1"
  diff -u "test/rpm/golden/$1" "$work/got" || die "$1 differs from the golden file"
}

section 'versions sort'
tree=$work/tree
mkdir -p "$tree/packaging" && cp packaging/version.sh "$tree/packaging/" && echo 1.0.0 >"$tree/VERSION"
equal 'version of a tree without git' 1.0.0-dev "$("$tree/packaging/version.sh")"
tree() { git -C "$tree" -c user.name=test -c user.email=test@example.com "$@"; }
tree init -q && tree add -A
before=
# sorts COMMAND...: the version after COMMAND sorts after the last one, as the version of the RPM.
sorts() {
  local now
  "$@"
  now=$("$tree/packaging/version.sh")
  now=${now/-/\~}
  [ -z "$before" ] || equal "$before < $now" -1 "$(rpm --eval "%{lua:print(rpm.vercmp('$before', '$now'))}")"
  before=$now
}
sorts tree commit -q -m first
sorts touch "$tree/uncommitted"
rm "$tree/uncommitted"
for ((n = 2; n < 10; n++)); do tree commit -q --allow-empty -m "$n"; done
sorts tree commit -q --allow-empty -m tenth
sorts tree tag v1.0.0-rc.1
equal 'version of a candidate' 1.0.0-rc.1 "$("$tree/packaging/version.sh")"
tree commit -q --allow-empty -m eleventh
sorts tree tag v1.0.0
equal 'version of a release' 1.0.0 "$("$tree/packaging/version.sh")"
tree commit -q --allow-empty -m twelfth
if "$tree/packaging/version.sh" 2>"$work/released"; then die 'a commit after the release has its version'; fi
grep -q '1.0.0 has been released' "$work/released" || die "$(cat "$work/released")"
echo 1.0.1 >"$tree/VERSION"
sorts tree commit -q -a -m next

section 'reproducible builds: two builds in different directories are identical'
commit=$(git rev-parse HEAD)
export VERSION=1.0.0 COMMIT=$commit WORKTREE=1
packaging/rpm/build.sh "$work/one"
git ls-files -z | xargs -0 cp --parents -Pt "$(mkdir -p "$work/elsewhere" && echo "$work/elsewhere")"
(
  cd "$work/elsewhere"
  epoch=$(git -C "$OLDPWD" log -1 --format=%ct)
  git init -q && git add -A # sources.sh lists the files with git
  umask 077
  CHECK=0 SOURCE_DATE_EPOCH=$epoch TZ=Asia/Tokyo packaging/rpm/build.sh "$work/two"
)
(cd "$work/one/unsigned" && sha256sum ./*.rpm) >"$work/sums"
(cd "$work/two/unsigned" && sha256sum --quiet -c "$work/sums") || die 'the builds differ'
equal packages 6 "$(wc -l <"$work/sums")"
(cd "$work/one" && sha256sum --quiet -c SHA256SUMS)

section 'rpmlint'
rpmlint --config packaging/rpm/hcp-node-agent.rpmlintrc.toml "$work"/one/repo/*.rpm >"$work/lint" 2>&1 || { cat "$work/lint"; die 'rpmlint'; }
grep -q ' 0 errors, 0 warnings' "$work/lint" || { cat "$work/lint"; die 'rpmlint prints warnings'; }

section 'metadata, dependencies, scriptlets and contents'
for arch in x86_64 aarch64; do
  for name in hcp-node-agent hcp-node-admin; do
    package=$work/one/unsigned/$name-1.0.0-1.$arch.rpm
    rpm -qp --requires --recommends --suggests "$package" | LC_ALL=C sort -u | golden "$name/requires.$arch"
    rpm -qp --scripts --triggers "$package" | golden "$name/scripts"
    rpm -qp --qf '[%{FILEMODES:perms} %{FILEUSERNAME} %{FILEFLAGS:fflags} %{FILENAMES}\n]' "$package" |
      grep -v -e "/licenses/$name/vendor/" -e "/doc/$name/" | golden "$name/files"
    rpm -qp --qf '%{NAME} %{LICENSE} %{PAYLOADCOMPRESSOR} %{FILEDIGESTALGO} %{BUILDHOST}\n' "$package" | golden "$name/metadata"
    rm -rf "$work/x" && mkdir "$work/x" && (cd "$work/x" && rpm2archive - <"$package" | tar xz "./usr/bin/$name")
    program=$work/x/usr/bin/$name
    readelf -hd "$program" >"$work/elf"
    go version -m "$program" >"$work/built"
    rpm -qp --provides "$package" >"$work/provides"
    rpm -qpl "$package" >"$work/list"
    grep -q 'DYN (Position-Independent' "$work/elf" || die "$arch: not a PIE"
    if grep NEEDED "$work/elf"; then die "$arch: the binary needs a library"; fi
    grep -q 'GOFIPS140=v1.0.0-' "$work/built" || die "$arch: not the certified module"
    grep -q 'DefaultGODEBUG=.*fips140=on' "$work/built" || die "$arch: not in FIPS mode"
    # Each module of the binary has a license and a bundled() provide.
    awk '$1 == "dep" { print $2 }' "$work/built" >"$work/modules"
    [ -s "$work/modules" ] || die "$arch: the binary contains no list of modules"
    while read -r module; do
      grep -qF "bundled(golang($module)) = " "$work/provides" || die "$arch: $module has no bundled() provide"
      grep -qiE "/licenses/$name/vendor/$module/(licen[cs]e|copying)" "$work/list" || die "$name $arch: $module has no license file"
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
package=$work/one/unsigned/hcp-node-agent-selinux-1.0.0-1.noarch.rpm
rpm -qp --requires "$package" | LC_ALL=C sort -u | golden hcp-node-agent-selinux/requires
rpm -qp --scripts "$package" | golden hcp-node-agent-selinux/scripts
rpm -qpl "$package" | golden hcp-node-agent-selinux/files

section 'the SELinux module compiles and labels the files of the agent'
label() { matchpathcon -f "$work/file_contexts" "$@" | sed 's/.*:object_r:\(.*\):s0$/\1/' | paste -sd' '; }
software=/usr/libexec/hcp-node-agent/software/sha256-00
secilc -o "$work/policy" -f "$work/file_contexts" test/rpm/selinux-base.cil packaging/selinux/hcp_node_agent.cil
equal 'types of the files' 'hcp_node_agent_conf_t hcp_node_agent_conf_t etc_t hcp_node_agent_var_lib_t hcp_node_agent_var_lib_t' \
  "$(label /etc/hcp-node-agent /etc/hcp-node-agent/user-data.ign /etc/hcp-node-agent-other \
    /var/lib/hcp-node-agent /var/lib/hcp-node-agent/keys/kubelet-client.key)"
equal 'types of programs, without container-selinux' 'bin_t bin_t' "$(label $software/usr/bin/kubelet $software/usr/bin/crio)"
secilc -o "$work/policy" -f "$work/file_contexts" test/rpm/selinux-base.cil test/rpm/selinux-container.cil packaging/selinux/hcp_node_agent.cil
equal 'types of programs' 'kubelet_exec_t container_runtime_exec_t openvswitch_exec_t bin_t' \
  "$(label $software/usr/bin/kubelet $software/usr/bin/crio $software/usr/sbin/ovs-vswitchd $software/usr/bin/crictl)"

section 'dnf: install from the signed repository'
for name in systemd:'systemd = 239' NetworkManager NetworkManager-ovs glibc:'rtld(GNU_HASH)' bash:/bin/sh \
  selinux-policy-targeted policycoreutils libselinux-utils sos; do
  case $name in *:*) standin "${name%%:*}" "${name#*:}" ;; *) standin "$name" ;; esac
done
createrepo_c --quiet "$work/standins/repo"
mkdir -p "$work/repos" "$work/log" "$work/vars" "$work/persist"
printf '[main]\ngpgcheck=1\nplugins=0\n' >"$work/dnf.conf"
printf '[standins]\nname=standins\nbaseurl=file://%s\ngpgcheck=0\n' "$work/standins/repo" >"$work/repos/standins.repo"
cp "$work/one/repo/hcp-node-agent.repo" "$work/repos/"
echo "file://$work/one/repo" >"$work/vars/hcp_node_agent_url"
make_root
mkdir -m 0755 "$root/etc/hcp-node-agent" # cloud-init creates it before the package is installed
echo '{}' >"$root/etc/hcp-node-agent/user-data.ign"
must_dnf install systemd bash NetworkManager NetworkManager-ovs # every host has them
logged
must_dnf install hcp-node-agent
equal 'calls of systemctl' "$(printf 'systemctl --no-reload preset hcp-node-agent.service hcp-node-agent.path\nsystemctl daemon-reload')" "$(logged systemctl)"
if rpm --root "$root" -q hcp-node-agent-selinux >/dev/null; then die 'the SELinux module was installed on a host without SELinux'; fi
equal 'directory of secrets' '700 root' "$(stat -c '%a %U' "$root/etc/hcp-node-agent")"
equal 'state directory' '700 root' "$(stat -c '%a %U' "$root/var/lib/hcp-node-agent")"
equal version "hcp-node-agent 1.0.0 (commit $commit," "$("$root/usr/bin/hcp-node-agent" version | cut -d' ' -f1-4)"
must_dnf remove hcp-node-agent
[ ! -e "$root/usr/bin/hcp-node-agent" ] || die 'the binary still exists'
[ -e "$root/etc/hcp-node-agent/user-data.ign" ] || die "the administrator's user data was removed"
equal 'calls of systemctl' 'systemctl --no-reload disable --now hcp-node-agent.service hcp-node-agent.path' "$(logged systemctl)"

section 'dnf: the SELinux module and the sos plugin'
mkdir -p "$root/etc/selinux" "$root/usr/lib/python3.9/site-packages/sos/report/plugins"
echo SELINUXTYPE=targeted >"$root/etc/selinux/config"
plugin=$root/usr/lib/python3.9/site-packages/sos/report/plugins/hcp_node_agent.py
tools=(semodule load_policy restorecon)
must_dnf install selinux-policy-targeted policycoreutils libselinux-utils
must_dnf install hcp-node-agent
equal 'calls at installation' "$(printf '%s\n' \
  'semodule -n -s targeted -X 200 -i /usr/share/selinux/packages/targeted/hcp_node_agent.cil' \
  'load_policy ' 'restorecon -R -i /etc/hcp-node-agent /var/lib/hcp-node-agent')" "$(logged "${tools[@]}")"
cmp packaging/selinux/hcp_node_agent.cil "$root/usr/share/selinux/packages/targeted/hcp_node_agent.cil"
[ ! -L "$plugin" ] || die 'there is a sos plugin without sos'
must_dnf install sos
cmp packaging/sos/hcp_node_agent.py "$root/$(readlink "$plugin")"
must_dnf remove sos
[ ! -L "$plugin" ] || die 'the sos plugin was not removed together with sos'
must_dnf install sos
must_dnf reinstall hcp-node-agent
[ -L "$plugin" ] || die 'the sos plugin was removed by the reinstallation'
logged
must_dnf remove hcp-node-agent
[ ! -L "$plugin" ] || die 'the sos plugin was not removed'
if rpm --root "$root" -q hcp-node-agent-selinux >/dev/null; then die 'the SELinux module was not removed'; fi
equal 'calls at removal' "$(printf '%s\n' 'semodule -n -s targeted -X 200 -r hcp_node_agent' \
  'load_policy ' 'restorecon -R -i /etc/hcp-node-agent /var/lib/hcp-node-agent')" "$(logged "${tools[@]}")"

section 'sos: a report contains the output of the agent, without secrets'
must_dnf install hcp-node-agent
[ -L "$plugin" ] || die 'there is no sos plugin'
sos=$work/sos
secret=8f1d5c6e-0d5a-4b0e-9c58-3f1f6ab2d7c4
mkdir -p "$sos"/{bin,tmp,etc/hcp-node-agent,etc/crio/crio.conf.d}
cp -r /usr/lib/python3/dist-packages/sos "$sos/" # sos in the working directory is preferred
cp "$root/$(readlink "$plugin")" "$sos/sos/report/plugins/"
ln "$root/usr/bin/hcp-node-agent" "$sos/bin/"
cat >"$sos/etc/hcp-node-agent/user-data.ign" <<EOT
{"ignition": {"version": "3.2.0", "config": {"merge": [{"source": "https://127.0.0.1:1/ignition",
  "httpHeaders": [{"name": "Authorization", "value": "Bearer $secret"}]}]}}}
EOT
echo "# Bearer $secret" >"$sos/etc/crio/crio.conf.d/site.conf"
cd "$sos"
unshare --mount sh -ec "
  mount --bind '$sos/bin' /usr/local/bin
  mount -t overlay -o 'lowerdir=$sos/etc:/etc' overlay /etc
  sos report --batch --build --only-plugins hcp_node_agent --tmp-dir '$sos/tmp'" >"$work/sos.log" 2>&1 ||
  { cat "$work/sos.log"; die 'sos report'; }
cd "$OLDPWD"
report=$(echo "$sos"/tmp/sosreport-*)
for file in sos_commands/hcp_node_agent/{doctor.json,status.json,changes.json,config_show} etc/crio/crio.conf.d/site.conf; do
  [ -s "$report/$file" ] || die "the sos report does not contain $file"
done
if grep -rF "$secret" "$report"; then die 'the sos report contains a secret'; fi

must_dnf remove hcp-node-agent sos selinux-policy-targeted policycoreutils libselinux-utils
logged

section 'dnf: the administrator package, alone'
must_dnf install hcp-node-admin
equal 'calls of systemctl' '' "$(logged systemctl)"
equal version 'hcp-node-admin 1.0.0' "$("$root/usr/bin/hcp-node-admin" version | cut -d' ' -f1-2)"
equal plugin 'hcp-node-admin 1.0.0' "$("$root/usr/bin/kubectl-hcp_node" version | cut -d' ' -f1-2)"
[ ! -e "$root/usr/bin/hcp-node-agent" ] || die 'the agent was installed too'
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$work/ca.key" -subj /CN=ca -out "$work/ca.crt" 2>"$work/openssl.log"
printf '{"ignition": {"version": "3.2.0", "config": {"merge": [{"source": "https://ignition.example.com/ignition",
"httpHeaders": [{"name": "Authorization", "value": "Bearer YQ=="}, {"name": "NodePool", "value": "clusters/workers"}]}]},
"security": {"tls": {"certificateAuthorities": [{"source": "data:;base64,%s"}]}}}}' "$(base64 -w 0 "$work/ca.crt")" >"$work/user-data.ign"
cat >"$work/site.yaml" <<EOT
apiVersion: hcp-node-agent.io/v1alpha1
kind: SiteConfig
repositories:
- {name: hcp-node-agent, baseurl: "file://$work/one/repo", gpgkey: "file://$work/one/repo/RPM-GPG-KEY"}
settings: {installPackages: true}
EOT
"$root/usr/bin/hcp-node-admin" enroll --offline workers worker-7 --ca "$work/ca.crt" --embed-user-data "$work/user-data.ign" \
  --format kickstart --site-config "$work/site.yaml" --output-dir "$work/enrolled" >"$work/enroll.log"
must_dnf remove hcp-node-admin
equal 'calls of systemctl' '' "$(logged systemctl)"
[ ! -e "$root/usr/bin/kubectl-hcp_node" ] || die 'the plugin still exists'

section 'kickstart: the section that enroll has written, and the signed repository in it'
rm -f "$root/etc/hcp-node-agent/user-data.ign" "$root/etc/yum.repos.d/"*
mkdir -p "$root/etc/yum.repos.d" # RHEL has it
printf '#!/bin/sh\nexit 1\n' >"$root/usr/bin/rpm" # nothing is installed
chmod +x "$root/usr/bin/rpm"
logged
sed '1d;$d' "$work/enrolled/tokens/worker-7.ks" | chroot "$root" /bin/sh
equal 'calls of dnf and systemctl' "$(printf 'dnf -y install hcp-node-agent\nsystemctl start --no-block hcp-node-agent.service hcp-node-agent.path')" \
  "$(logged dnf systemctl)"
equal 'host name' worker-7 "$(cat "$root/etc/hostname")"
cmp "$work/enrolled/tokens/worker-7.token" "$root/etc/hcp-node-agent/node.token"
equal 'mode and owner of the join token' '600 root' "$(stat -c '%a %U' "$root/etc/hcp-node-agent/node.token")"
equal 'mode and owner of the repository file' '644 root' "$(stat -c '%a %U' "$root/etc/yum.repos.d/hcp-node-agent.repo")"
grep -qx gpgcheck=1 "$root/etc/yum.repos.d/hcp-node-agent.repo" || die 'packages are not checked'
must_dnf --setopt=reposdir="$root/etc/yum.repos.d" install hcp-node-agent
equal 'mode of the directory that the section has created' 700 "$(stat -c %a "$root/etc/hcp-node-agent")"
"$root/usr/bin/hcp-node-agent" config validate "$root/etc/hcp-node-agent/config.d/10-site.yaml"
rm "$root/usr/bin/rpm" "$root/etc/yum.repos.d/hcp-node-agent.repo"
must_dnf remove hcp-node-agent
logged

section 'dnf: installation on a host with systemd and a shell only'
must_dnf remove NetworkManager NetworkManager-ovs
must_dnf install hcp-node-agent
must_dnf install NetworkManager NetworkManager-ovs
logged

section 'dnf: upgrade and downgrade while the service monitors a node, and while it joins'
VERSION=1.0.1 CHECK=0 ARCHITECTURES=$(uname -m) packaging/rpm/build.sh "$work/next"
sed "s/^\[.*/[next]/; s|\$hcp_node_agent_url|file://$work/next/repo|" "$work/next/repo/hcp-node-agent.repo" >"$work/repos/next.repo"
echo 'bridgeInterface: eth1' >>"$root/etc/hcp-node-agent/config.yaml"
# other VERSION STATE COMMAND [WANT...] changes the version with a command of dnf, and
# checks the calls of systemctl.
other() {
  echo "$2" >"$root/var/lib/hcp-node-agent/join.json"
  must_dnf "$3" hcp-node-agent
  equal version "hcp-node-agent $1" "$("$root/usr/bin/hcp-node-agent" version | cut -d' ' -f1-2)"
  shift 3
  equal 'calls of systemctl' "$(printf 'systemctl %s\n' daemon-reload "$@")" "$(logged systemctl)"
  grep -q eth1 "$root/etc/hcp-node-agent/config.yaml" || die 'the configuration was replaced'
}
other 1.0.1 '{"finished":"2026-01-01T00:00:00Z"}' upgrade '--no-block try-restart hcp-node-agent.service'
other 1.0.0 '{"lastStep":"client-certificate"}' downgrade

section 'dnf: the removal from a node is refused'
must_dnf install hcp-node-agent-selinux selinux-policy-targeted policycoreutils libselinux-utils
must_dnf mark remove hcp-node-agent-selinux # now dnf removes it together with hcp-node-agent
logged
if dnf_in_root remove hcp-node-agent NetworkManager; then die 'dnf reports success'; fi
cp "$work/dnf.log" "$work/removal"
grep -q 'Restore the host first: hcp-node-agent leave' "$work/removal" || { cat "$work/removal"; die 'the reason is not printed'; }
[ ! -e "$root/stand-in/NetworkManager" ] || die 'the rest of the transaction was not executed'
[ -e "$root/stand-in/NetworkManager-ovs" ] || die 'NetworkManager-ovs, which the node needs, was removed'
[ -x "$root/usr/bin/hcp-node-agent" ] || die 'the binary was removed'
rpm --root "$root" -q hcp-node-agent >/dev/null || die 'the package is no longer in the rpm database'
rpm --root "$root" -q hcp-node-agent-selinux >/dev/null || die 'the SELinux module was removed'
equal 'calls of systemctl and semodule' '' "$(logged systemctl semodule)"
must_dnf mark remove hcp-node-agent
if dnf_in_root autoremove; then die 'dnf reports success'; fi
rpm --root "$root" -q hcp-node-agent hcp-node-agent-selinux >/dev/null || die 'dnf autoremove removed a package'
[ -x "$root/usr/bin/hcp-node-agent" ] || die 'dnf autoremove removed the binary'
rm "$root/var/lib/hcp-node-agent/join.json"
must_dnf remove hcp-node-agent
[ ! -e "$root/usr/bin/hcp-node-agent" ] || die 'the binary still exists after leave'
grep -q eth1 "$root/etc/hcp-node-agent/config.yaml.rpmsave" || die 'a modified configuration was not saved'

section 'dnf: an unsigned package is refused'
mkdir "$work/forged"
cp "$work"/one/unsigned/*.rpm "$work/forged/"
createrepo_c --quiet "$work/forged"
rm "$work/repos/next.repo"
printf '[hcp-node-agent]\nname=forged\nbaseurl=file://%s\ngpgcheck=1\ngpgkey=file://%s\n' "$work/forged" "$work/one/repo/RPM-GPG-KEY" >"$work/repos/hcp-node-agent.repo"
if dnf_in_root install hcp-node-agent; then die 'dnf installed it'; fi
grep -q 'is not signed' "$work/dnf.log" || { cat "$work/dnf.log"; die 'it was refused for another reason'; }
section 'the repository, as a host and a web server get it'
test/rpm/repository.sh "$work/one/hcp-node-agent_1.0.0_repository.tar.gz"
section 'all tests passed'
