# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the guest's root, with the output of image.sh in /mnt; see there.
sysroot=/mnt/sysroot repo=/mnt/sysroot/ostree/repo
ostree admin init-fs --modern "$sysroot"
ostree admin os-init --sysroot="$sysroot" default
ostree config --repo="$repo" set sysroot.bootloader none
ostree config --repo="$repo" set sysroot.readonly true
commit=$(ostree commit --repo="$repo" --branch=base --consume --tree=dir=/mnt/tree)
ostree admin deploy --sysroot="$sysroot" --os=default --karg=root=/dev/vda2 --karg=rw "$commit"
