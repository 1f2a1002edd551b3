#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cloud.sh OUT.qcow2: the machine's image as a distribution publishes one for clouds:
# with a partition, GRUB and cloud-init, and without keys. It needs grub-pc-bin.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
out=${1:?usage: cloud.sh OUT.qcow2}
grub=${GRUB:-/usr/lib/grub/i386-pc}
[ -e "$grub/boot.img" ] || die "needs the Debian package grub-pc-bin"
image=$("$here/build.sh")
work=$(mktemp -d -p "$(dirname "$out")")
trap 'rm -rf "$work"' EXIT

# --- what the boot loader loads, and the name of the partition
kernel=$(debugfs -R 'ls -p /boot' "$image/disk.img" 2>/dev/null | grep -o 'vmlinuz-[^/]*')
mkdir "$work/initramfs"
(cd "$work/initramfs" && cpio -i --quiet <"$image/initramfs.img" && sed -i 's,/dev/vda,&1,g' init &&
  find . | sort | cpio -o -H newc --quiet) >"$work/initramfs.img"
printf '/dev/vda1 / ext4 defaults,noatime 0 0\n' >"$work/fstab"
cat >"$work/cloud.cfg" <<'CFG'
datasource_list: [NoCloud, None]
disable_root: true
users: []
cloud_init_modules: [seed_random, set_hostname, ssh]
cloud_config_modules: []
cloud_final_modules: [final-message]
system_info: {network: {renderers: [network-manager]}}
CFG

# --- the file system, filled without mounting it
cp --sparse=always "$image/disk.img" "$work/root"
debugfs -w -f - "$work/root" >"$work/log" 2>&1 <<DEBUGFS
rm /root/.ssh/authorized_keys
rm /etc/ssh/ssh_host_ed25519_key
rm /etc/ssh/ssh_host_ed25519_key.pub
rm /etc/cloud/cloud-init.disabled
rm /etc/cloud/cloud.cfg.d/90-machine.cfg
write $work/cloud.cfg /etc/cloud/cloud.cfg.d/90-machine.cfg
rm /etc/fstab
write $work/fstab /etc/fstab
write $work/initramfs.img /boot/initramfs.img
DEBUGFS
! grep -v -e '^debugfs' -e '^Allocated inode' -e '^$' "$work/log" >&2 || die "debugfs failed"

# --- the disk: GRUB in the sectors before the partition
cat >"$work/grub.cfg" <<GRUB
set root=(hd0,msdos1)
linux /boot/$kernel root=/dev/vda1 console=ttyS0 quiet net.ifnames=0 mitigations=off lsm=yama random.trust_cpu=on systemd.default_device_timeout_sec=15min
initrd /boot/initramfs.img
boot
GRUB
grub-mkimage -d "$grub" -O i386-pc -o "$work/core.img" -p '(hd0,msdos1)/boot/grub' -c "$work/grub.cfg" \
  biosdisk part_msdos ext2 linux boot
truncate -s $(($(stat -c %s "$work/root") + 1048576)) "$work/disk"
echo 'start=2048, type=83, bootable' | sfdisk --quiet --label dos "$work/disk"
dd if="$grub/boot.img" of="$work/disk" bs=440 count=1 conv=notrunc status=none
dd if="$work/core.img" of="$work/disk" bs=512 seek=1 conv=notrunc status=none
dd if="$work/root" of="$work/disk" bs=1M seek=1 conv=notrunc,sparse status=none
qemu-img convert -f raw -O qcow2 "$work/disk" "$out"
log "$out: $(stat -c %s "$out") bytes"
