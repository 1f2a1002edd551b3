#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deps.sh: install what building and running the test bed needs and this host
# lacks. It installs on Debian 12 with Go; on other hosts it prints what to
# install and changes nothing.
set -euo pipefail

# Required program (or file), and the Debian package that contains it.
needs=(
  "make make"
  "git git"
  # the control plane
  "dnsmasq dnsmasq-base"
  "ip iproute2"
  "tinyproxy tinyproxy-bin"
  "haproxy haproxy"
  # building the machine's image
  "mmdebstrap mmdebstrap"
  "/usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring"
  "mke2fs e2fsprogs"
  "sfdisk fdisk"
  "zstd zstd"
  "cpio cpio"
  "xz xz-utils"
  "jq jq"
  "curl curl"
  "openssl openssl"
  "gcc gcc"
  "/usr/include/stdio.h libc6-dev"
  "/usr/include/seccomp.h libseccomp-dev"
  "pkg-config pkg-config"
  # building Ignition, and what it runs
  "/usr/include/blkid/blkid.h libblkid-dev"
  "useradd passwd"
  "matchpathcon selinux-utils"
  "strace strace"
  "visudo sudo"
  "systemctl systemd"
  # man pages and completions
  "groff groff-base"
  "mandoc mandoc"
  "/usr/share/bash-completion/bash_completion bash-completion"
  "/usr/lib/python3/dist-packages/jsonschema/__init__.py python3-jsonschema"
  "zsh zsh"
  "fish fish"
  "tmux tmux"
  # the archive for a support case
  "sos sosreport"
  # running it
  "qemu-system-x86_64 qemu-system-x86"
  "qemu-img qemu-utils"
  "qemu-storage-daemon qemu-system-common"
  "fusermount3 fuse3"
  "mkfs.xfs xfsprogs"
  "mkfs.vfat dosfstools"
  "mcopy mtools"
  "ssh openssh-client"
  "nsenter util-linux"
  # the lab's switch
  "ovs-vsctl openvswitch-switch"
  "ethtool ethtool"
  "sysctl procps"
  # the packet filter that leave cleans up
  "iptables iptables"
  "nft nftables"
  # stand-in packages, and the real dnf that installs them
  "rpmbuild rpm"
  "dnf dnf"
  "createrepo_c createrepo-c"
  "gpg gnupg"
  "gpg-agent gpg-agent"
  "rpmlint rpmlint"
  "secilc secilc"
  # the metrics and alerts of deploy/monitoring
  "promtool prometheus"
  "prometheus-node-exporter prometheus-node-exporter"
  # make lint
  "shellcheck shellcheck"
)

PATH=$PATH:/usr/sbin:/sbin
missing=()
for need in "${needs[@]}"; do
  file=${need% *}
  case $file in
    /*) [ -e "$file" ] || missing+=("${need#* }") ;;
    *) command -v "$file" >/dev/null || missing+=("${need#* }") ;;
  esac
done

if ! command -v go >/dev/null; then
  echo "deps: Go is missing; install it from https://go.dev/dl (go.mod says which version)" >&2
  exit 1
fi
if [ ${#missing[@]} = 0 ]; then
  exit 0
fi

# shellcheck source=/dev/null
. /etc/os-release
install="apt-get install -y --no-install-recommends ${missing[*]}"
if [ "${ID:-}" != debian ] || [ "${VERSION_ID:-}" != 12 ]; then
  echo "deps: this is ${PRETTY_NAME:-not Debian 12}; on Debian 12 the missing parts would come with" >&2
  echo "    $install" >&2
  echo "deps: install what corresponds to these packages here, and run this again" >&2
  exit 1
fi
if [ "$(id -u)" != 0 ]; then
  echo "deps: needs root; run: sudo apt-get update && sudo $install" >&2
  exit 1
fi
echo "deps: installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
# The tests use only the binaries of these packages. Their services must not run on
# this host, now or after the next boot. systemctl may not be installed yet.
for package in haproxy openvswitch-switch prometheus prometheus-node-exporter; do
  case " ${missing[*]} " in
    *" $package "*)
      install -d /etc/systemd/system
      ln -sf /dev/null "/etc/systemd/system/$package.service"
      ;;
  esac
done
if [ ! -e /usr/sbin/policy-rc.d ]; then # installing starts no service
  printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
  chmod +x /usr/sbin/policy-rc.d
  trap 'rm -f /usr/sbin/policy-rc.d' EXIT
fi
apt-get update -qq
# shellcheck disable=SC2086 # one word for each argument
$install -qq >/dev/null
