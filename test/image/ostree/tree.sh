#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tree.sh TREE ROOT NETWORKMANAGER CRIO KUBELET PROGRAMS PUBKEY: turn a copy of the
# Debian root into the tree of a deployment, TREE, with the layout of RHCOS and what
# OpenShift's packages install, nothing configured. TREE/var is the state.
set -euo pipefail
. "$(dirname "$0")/../lib/common.sh"
tree=${1:?} root=${2:?} networkmanager=${3:?} crio=${4:?} kubelet=${5:?} programs=${6:?} pubkey=${7:?}

cp -a "$root/root" "$tree"
cp -r --no-preserve=ownership "$here/overlay/." "$here/ostree/overlay/." "$tree/"
rm "$tree/usr/bin/grubby" "$tree/etc/default/grub" # RHCOS excludes grubby (its common.yaml)

# --- what RPMs install
install -m755 "$kubelet/kubelet" "$crio/crio" "$crio/pinns" "$tree/usr/bin/"
install -m644 "$crio/crio.service" "$crio/crio-wipe.service" "$tree/usr/lib/systemd/system/"
ln -s ../lib/cni "$tree/usr/libexec/cni"
install -m755 "$programs/bootc" "$tree/usr/bin/bootc"
ln -s bootc "$tree/usr/bin/rpm-ostree"
ln -s bootc "$tree/usr/bin/podman"
ln -s ../local/bin/hcp-node-agent "$tree/usr/bin/hcp-node-agent" # tests install it while the machine runs

# --- the RPM database: configure-ovs.sh of a payload refuses a host without a package of Open vSwitch
# shellcheck disable=SC2016 # dpkg-query expands the field
openvswitch=$(chroot "$tree" dpkg-query -W -f '${source:Upstream-Version}' openvswitch-switch)
chroot "$tree" /bin/bash -euo pipefail -s "$openvswitch" <<'END' >&2
work=$(mktemp -d)
printf '%s\n' "Name: openvswitch${1%.*}" "Version: $1" 'Release: 1.el9fdp' 'Summary: stands in for the package of RHEL' \
  'License: Apache-2.0' 'BuildArch: noarch' '%description' 'The files are those of the package of Debian.' '%files' >"$work/spec"
rpmbuild --quiet -bb --define "_topdir $work" "$work/spec"
rpm --install --justdb "$work"/RPMS/noarch/*.rpm
rm -r "$work"
END

# --- NetworkManager with Open vSwitch, as rootfs.sh does it
plugins=$(dirname "$(find "$tree/usr/lib" -name libnm-device-plugin-team.so)")
rm -f "$plugins"/libnm-{device-plugin-{adsl,bluetooth,team,wifi,wwan},wwan,ppp-plugin,settings-plugin-ifupdown}.so
install -m644 "$networkmanager/libnm-device-plugin-ovs.so" "$plugins/"
install -m755 "$networkmanager/NetworkManager" "$tree/usr/sbin/NetworkManager"
rm -f "$tree/etc/NetworkManager/dispatcher.d/01-ifupdown"
printf '[main]\nplugins=keyfile\n' >"$tree/etc/NetworkManager/NetworkManager.conf"

# --- units: see rootfs.sh
units=$tree/usr/lib/systemd/system
ctl() { chroot "$tree" systemctl --quiet "$@"; }
ctl disable openvswitch-switch.service ovs-record-hostname.service getty@tty1.service \
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer fstrim.timer uuidd.socket
ctl enable NetworkManager.service NetworkManager-wait-online.service ssh.service control-channel.service \
  ostree-remount.service
ctl mask sshd-keygen.service serial-getty@ttyS0.service systemd-binfmt.service systemd-update-utmp.service \
  systemd-update-utmp-runlevel.service systemd-pstore.service selinux-autorelabel-mark.service
install -d "$tree/etc/systemd/system-generators"
ln -s /dev/null "$tree/etc/systemd/system-generators/systemd-ssh-generator" # it requires a vsock
sed '/^Also=/d' "$units/openvswitch-switch.service" >"$units/openvswitch.service"
sed -i 's/^PartOf=openvswitch-switch\.service/PartOf=openvswitch.service/' \
  "$units/ovsdb-server.service" "$units/ovs-vswitchd.service"
rm "$units/openvswitch-switch.service" "$units/ovs-record-hostname.service" "$tree/etc/init.d/openvswitch-switch"

rm -r "$tree/etc/selinux" # ostree would label by a policy that is not installed

# --- identity
: >"$tree/etc/machine-id"
rm -f "$tree/etc/hostname" "$tree/var/lib/dbus/machine-id" "$tree"/etc/ssh/ssh_host_{rsa,ecdsa}_key*
printf '127.0.0.1 localhost localhost.localdomain\n::1 localhost localhost.localdomain\n' >"$tree/etc/hosts"
rm -f "$tree/etc/resolv.conf" "$tree/etc/network/interfaces"
printf 'LABEL=boot /boot ext4 ro,nodev,nosuid 0 2\n' >"$tree/etc/fstab"
install -d "$tree/var/log/journal"

# --- kernel and initramfs where ostree finds them; the kernel is unpacked, as QEMU's
modules=$(echo "$tree"/lib/modules/*)
rm -rf "$modules"/kernel/{sound,drivers/{gpu,media,staging,infiniband,isdn,iio,hid,mmc,bluetooth,usb,scsi,ata}} \
  "$modules"/kernel/drivers/net/{wireless,ethernet,usb} "$tree/etc/apt/sources.list"
find "$modules" -name '*.ko.xz' -print0 | xargs -0 -r xz -d # unpacking costs more than loading
chroot "$tree" depmod "$(basename "$modules")"
"$here/ostree/vmlinux.sh" "$tree"/boot/vmlinuz-* "$modules/vmlinuz"
"$here/ostree/initramfs.sh" "$tree" "$modules/initramfs.img"

# --- the layout: links of the root into the state (rpm-ostree docs/treefile.md, opt-usrlocal)
rm -rf "${tree:?}"/{boot,dev,home,media,mnt,opt,proc,root,run,srv,sys,tmp} "$tree"/{initrd.img,vmlinuz}*
install -d "$tree"/{boot,dev,proc,run,sys,sysroot,tmp} "$tree/var"/{home,mnt,opt,srv,usrlocal/bin}
install -d -m700 "$tree/var/roothome" "$tree/var/roothome/.ssh"
install -m600 "$pubkey" "$tree/var/roothome/.ssh/authorized_keys"
cp -a "$tree/usr/local/." "$tree/var/usrlocal/"
rm -rf "${tree:?}/usr/local"
ln -s ../var/usrlocal "$tree/usr/local"
ln -s run/media "$tree/media"
ln -s sysroot/ostree "$tree/ostree"
ln -s var/roothome "$tree/root"
for link in home mnt opt srv; do ln -s "var/$link" "$tree/$link"; done
# What systemd does once after an update of /usr is done.
touch "$tree/etc/.updated" "$tree/var/.updated"
mv "$tree/etc" "$tree/usr/etc"
