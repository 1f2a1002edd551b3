#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what a node requires on CentOS Stream and its relatives, for -prepare. The release is that of the
# control plane in test/controlplane.
release=v1.34
for name in core addons:/cri-o; do
  url=https://pkgs.k8s.io/$name:/stable:/$release/rpm/
  printf '[%s]\nname=%s\nbaseurl=%s\ngpgcheck=1\ngpgkey=%srepodata/repomd.xml.key\n' \
    "${name##*/}" "${name##*/}" "$url" "$url" >"/etc/yum.repos.d/${name##*/}.repo"
done
dnf install -y centos-release-nfv-openvswitch
openvswitch=$(dnf -q repoquery --qf '%{name}\n' 'openvswitch3.*' | grep -x 'openvswitch3\.[0-9]*' | sort -uV | tail -n 1)
dnf install -y kubelet cri-o "$openvswitch" NetworkManager-ovs container-selinux
systemctl restart NetworkManager
