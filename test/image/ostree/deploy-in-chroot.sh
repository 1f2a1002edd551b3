# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the guest's root, with the output of image.sh in /mnt and the class as
# argument; see there.
sysroot=/mnt/sysroot repo=/mnt/sysroot/ostree/repo class=${1:?}
{ read -r digest; read -r layer; read -r config; } </mnt/base

ostree admin init-fs --modern "$sysroot"
ostree admin os-init --sysroot="$sysroot" default
ostree config --repo="$repo" set sysroot.bootloader none
ostree config --repo="$repo" set sysroot.readonly true

# RHEL bootc is installed from an image. RHCOS's disk image contains a commit whose
# origin names no image.
metadata=(--add-metadata-string=version=9.6.20250826-1) origin=()
if [ "$class" = bootc ]; then
  metadata=(--add-metadata-string="ostree.manifest-digest=$digest" --add-metadata-string="ostree.container.image-config=$config")
  printf '[origin]\ncontainer-image-reference=ostree-unverified-registry:registry.redhat.io/rhel9/rhel-bootc:9.6\n' >/mnt/origin
  origin=(--origin-file=/mnt/origin)
fi
# The branch marks the base layer as available; see test/ostree/pull.go.
commit=$(ostree commit --repo="$repo" --branch="$layer" --bootable --consume "${metadata[@]}" --tree=dir=/mnt/tree)
ostree admin deploy --sysroot="$sysroot" --os=default --karg=root=/dev/vda2 --karg=rw "${origin[@]}" "$commit"
rm -f /mnt/origin
