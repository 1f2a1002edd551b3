# shellcheck shell=bash
# root.sh contains functions for a root directory in which dnf installs packages, with
# stand-ins for the packages of RHEL. Other scripts source it. It writes only to $work.
: "${work:?}" "${root:?}"

section() { printf '== %s\n' "$*"; }
die() {
  printf 'FAIL: %s\n' "$*" >&2
  exit 1
}
# equal NAME WANT GOT
equal() { [ "$2" = "$3" ] || die "$1: want '$2', got '$3'"; }

# standin NAME [PROVIDES] builds an empty package that provides other packages.
standin() {
  cat >"$work/$1.spec" <<EOT
Name: $1
Version: 1
Release: 1
Summary: stand-in for a package of RHEL
License: Apache-2.0
BuildArch: noarch
Provides: ${2:-$1-stand-in}
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

# make_root creates a root directory in which scriptlets and install.sh can run. Instead of
# dnf, systemctl and the SELinux tools it contains commands that only log their arguments.
make_root() {
  local file
  mkdir -p "$root"/{bin,usr/bin,lib,lib64,etc,var/lib,run/systemd/system,dev,proc}
  for file in /bin/{sh,grep,cat,ln,rm,cp,chmod,mkdir,dirname,sed,tar,gzip}; do
    cp -L "$file" "$root/bin/"
    ldd "$file" | grep -o '/[^ ]*' | while read -r library; do
      mkdir -p "$root$(dirname "$library")"
      cp -L "$library" "$root$library"
    done
  done
  for file in dnf systemctl semodule load_policy selinuxenabled restorecon; do
    # shellcheck disable=SC2016 # expanded by the created script
    printf '#!/bin/sh\necho "${0##*/} $*" >>/commands.log\n' >"$root/usr/bin/$file"
    chmod +x "$root/usr/bin/$file"
  done
  : >"$root/commands.log"
}

# dnf_in_root ARGUMENTS runs dnf with the root directory and the test repositories only.
# The output is in $work/dnf.log.
dnf_in_root() {
  dnf -y --installroot="$root" --releasever=9 --forcearch="$(uname -m)" \
    --config="$work/dnf.conf" --setopt=reposdir="$work/repos" --setopt=cachedir="$work/cache" \
    --setopt=persistdir="$work/persist" --setopt=logdir="$work/log" --setopt=varsdir="$work/vars" \
    --setopt=pluginpath="$work/none" "$@" >"$work/dnf.log" 2>&1
}

# must_dnf ARGUMENTS runs dnf_in_root and exits if it fails.
must_dnf() {
  dnf_in_root "$@" || { cat "$work/dnf.log"; exit 1; }
}

# logged COMMAND... prints the logged calls of these commands, and clears the log.
logged() {
  local command
  for command; do grep "^$command " "$root/commands.log" || :; done
  : >"$root/commands.log"
}
