# shellcheck shell=bash
# root.sh: an empty root for dnf, with stand-ins for the packages of RHEL. To be
# sourced by test.sh; all of it is below $work.
: "${work:?}" "${root:?}"

# standin NAME PROVIDES: an empty package that provides another.
standin() {
  cat >"$work/$1.spec" <<EOT
Name: $1
Version: 1
Release: 1
Summary: stands for a package of RHEL
License: Apache-2.0
BuildArch: noarch
Provides: $2
%description
$1
%install
mkdir -p %{buildroot}/stand-in
touch %{buildroot}/stand-in/$1
%files
/stand-in/$1
EOT
  rpmbuild -bb --define "_topdir $work/standins" --define "_rpmdir $work/standins/repo" --define "_tmppath $work" "$work/$1.spec" >"$work/standin.log" 2>&1
}

# make_root: / of a machine on which scriptlets run: a shell, grep, cat, and a systemctl
# that records its arguments.
make_root() {
  local file
  mkdir -p "$root"/{bin,usr/bin,lib,lib64,etc,var/lib,run/systemd/system,dev,proc}
  for file in /bin/sh /bin/grep /bin/cat; do
    cp -L "$file" "$root/bin/"
    ldd "$file" | grep -o '/[^ ]*' | while read -r library; do
      mkdir -p "$root$(dirname "$library")"
      cp -L "$library" "$root$library"
    done
  done
  printf '#!/bin/sh\necho "$@" >>/systemctl.log\n' >"$root/usr/bin/systemctl"
  chmod +x "$root/usr/bin/systemctl"
  : >"$root/systemctl.log"
}

# in_root ARGUMENTS: dnf of this machine, with that root and its repositories
# only. Its output is in $work/dnf.log.
in_root() {
  dnf -y --installroot="$root" --releasever=9 --forcearch="$(uname -m)" \
    --config="$work/dnf.conf" --setopt=reposdir="$work/repos" --setopt=cachedir="$work/cache" \
    --setopt=persistdir="$work/persist" --setopt=logdir="$work/log" --setopt=varsdir="$work/vars" \
    --setopt=pluginpath="$work/none" "$@" >"$work/dnf.log" 2>&1
}

# does ARGUMENTS: in_root, which has to succeed.
does() {
  in_root "$@" || { cat "$work/dnf.log"; exit 1; }
}

# systemctl_calls: prints the arguments of systemctl since the last call.
systemctl_calls() {
  cat "$root/systemctl.log"
  : >"$root/systemctl.log"
}
