#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# rootfs.sh ROOT TREE NETWORKMANAGER CRIO KUBELET PUBKEY: turn a copy of the
# guest's tree into what a RHEL host looks like that has OpenShift's packages
# installed and nothing configured.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
. "$here/lib/mirrors.sh"
root=${1:?} tree=${2:?} networkmanager=${3:?} crio=${4:?} kubelet=${5:?} pubkey=${6:?}

cp -a "$tree/root" "$root"
cp -r --no-preserve=ownership "$here/overlay/." "$root/"

# --- what RPMs put on a worker
install -m755 "$kubelet/kubelet" "$crio/crio" "$crio/pinns" "$root/usr/bin/"
install -m644 "$crio/crio.service" "$crio/crio-wipe.service" "$root/usr/lib/systemd/system/"
ln -s ../lib/cni "$root/usr/libexec/cni"

# --- NetworkManager with Open vSwitch; the other plugins belong to the stock
# daemon, and Debian's dispatcher for ifupdown exists on no RHEL host
plugins=$(dirname "$(find "$root/usr/lib" -name libnm-device-plugin-team.so)")
rm -f "$plugins"/libnm-{device-plugin-{adsl,bluetooth,team,wifi,wwan},wwan,ppp-plugin,settings-plugin-ifupdown}.so
install -m644 "$networkmanager/libnm-device-plugin-ovs.so" "$plugins/"
install -m755 "$networkmanager/NetworkManager" "$root/usr/sbin/NetworkManager"
rm -f "$root/etc/NetworkManager/dispatcher.d/01-ifupdown"
cat >"$root/etc/NetworkManager/NetworkManager.conf" <<'CONF'
[main]
plugins=keyfile
CONF

# --- units: on RHEL only these would be enabled on a fresh worker, and what is
# masked would cost seconds at every emulated boot
units=$root/usr/lib/systemd/system
ctl() { chroot "$root" systemctl --quiet "$@"; }
ctl disable openvswitch-switch.service ovs-record-hostname.service getty@tty1.service \
  apt-daily.timer apt-daily-upgrade.timer \
  dpkg-db-backup.timer fstrim.timer uuidd.socket grub-common.service
# Later suites do not have these; see tree.sh for firewalld.
[ "$suite" != bookworm ] || ctl disable e2scrub_reap.service e2scrub_all.timer firewalld.service
ctl enable NetworkManager.service NetworkManager-wait-online.service ssh.service control-channel.service
# selinux-autorelabel-mark: it would have the first boot with SELinux label all.
ctl mask selinux-autorelabel-mark.service serial-getty@ttyS0.service systemd-binfmt.service systemd-update-utmp.service \
  systemd-update-utmp-runlevel.service systemd-pstore.service

# --- Debian 13 and later: a generator that requires a vsock; dnf5 as the link that RHEL installs
install -d "$root/etc/systemd/system-generators"
ln -s /dev/null "$root/etc/systemd/system-generators/systemd-ssh-generator"
[ ! -e "$root/usr/bin/dnf5" ] || ln -s dnf5 "$root/usr/bin/dnf"

# --- Open vSwitch under the name that RHEL has and the payload enables; the
# unit is otherwise the same there. Installed and not enabled.
sed '/^Also=/d' "$units/openvswitch-switch.service" >"$units/openvswitch.service"
sed -i 's/^PartOf=openvswitch-switch\.service/PartOf=openvswitch.service/' \
  "$units/ovsdb-server.service" "$units/ovs-vswitchd.service"
rm -f "$units/openvswitch-switch.service" "$units/ovs-record-hostname.service" "$root/etc/init.d/openvswitch-switch"

# --- cloud-init: there, and only for the tests that take this file away; its
# hook would run at each of NetworkManager's events
rm -f "$root"/etc/NetworkManager/dispatcher.d/cloud-init-hook-network-manager
touch "$root/etc/cloud/cloud-init.disabled"
printf 'datasource_list: [NoCloud, None]\nsystem_info: {distro: rhel, network: {renderers: [network-manager]}}\n' >"$root/etc/cloud/cloud.cfg.d/90-machine.cfg"

# --- SELinux: booleans that RHEL's container-selinux adds to the policy
printf '(boolean container_use_cephfs false)\n' >"$root/root/booleans.cil"
[ "$suite" != bookworm ] || echo '(boolean container_manage_cgroup false)' >>"$root/root/booleans.cil" # later policies have it
chroot "$root" semodule --noreload --store=default --install=/root/booleans.cil
rm "$root/root/booleans.cil"

# --- boot loader: QEMU loads the kernel, with the arguments in GRUB's
# configuration if a test requests that; update-grub needs the directory
install -d "$root/boot/grub"

# --- identity: made at first boot (machine-id, host name), or the tests' (ssh)
: >"$root/etc/machine-id"
rm -f "$root/etc/hostname" "$root/var/lib/dbus/machine-id" "$root"/etc/ssh/ssh_host_{rsa,ecdsa}_key*
printf '127.0.0.1 localhost localhost.localdomain\n::1 localhost localhost.localdomain\n' >"$root/etc/hosts"
rm -f "$root/etc/resolv.conf" "$root/etc/network/interfaces"
printf '/dev/vda / ext4 defaults,noatime 0 0\n' >"$root/etc/fstab"
install -d -m700 "$root/root/.ssh"
install -m600 "$pubkey" "$root/root/.ssh/authorized_keys"
install -d "$root/var/log/journal"

# --- weight: kernel modules that no virtual machine needs, apt's sources
modules=$(echo "$root"/lib/modules/*)
rm -rf "$modules"/kernel/{sound,drivers/{gpu,media,staging,infiniband,isdn,iio,hid,mmc,bluetooth,usb,scsi,ata}} \
  "$modules"/kernel/drivers/net/{wireless,ethernet,usb} "$root"/boot/{initrd,System.map}* "$root/etc/apt/sources.list"
find "$modules" -name '*.ko.xz' -print0 | xargs -0 -r xz -d # of Debian 13; initramfs.sh reads unpacked modules
chroot "$root" depmod "$(basename "$modules")"
