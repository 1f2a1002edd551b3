#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs inside the throw-away copy of the guest's tree; see networkmanager.sh.
set -euo pipefail

need=(build-essential meson ninja-build pkg-config dpkg-dev gettext python3 xsltproc
  libglib2.0-dev libudev-dev libsystemd-dev libndp-dev libjansson-dev uuid-dev libdbus-1-dev
  libgnutls28-dev libcap-ng-dev libpolkit-gobject-1-dev libcurl4-gnutls-dev)
apt-get update -qq
apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-unsafe-io "${need[@]}" >/dev/null

mkdir -p /build/src
cd /build/src
# shellcheck disable=SC2016 # dpkg-query substitutes it
version=$(dpkg-query -W -f='${source:Version}' network-manager)
# As root, apt drops to a user that cannot write here; it would only warn.
apt-get source -qq -o APT::Sandbox::User=root "network-manager=$version" >/dev/null
cd network-manager-*/

# What Debian's daemon has on the paths that the guest uses (systemd, D-Bus,
# polkit, gnutls, internal DHCP), plus ovs, minus device kinds it never meets.
meson setup ../out --prefix=/usr --libdir="lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)" \
  --sysconfdir=/etc --localstatedir=/var --buildtype=plain -Dc_args=-O1 \
  -Dovs=true -Dcrypto=gnutls -Dsession_tracking=systemd -Dsuspend_resume=systemd \
  -Dsystemd_journal=true -Dconfig_logging_backend_default=journal -Dmodify_system=true \
  -Dpolkit=true -Dlibaudit=no -Dselinux=false -Dlibpsl=false -Dqt=false \
  -Dintrospection=false -Dvapi=false -Ddocs=false -Dtests=no -Dppp=false \
  -Dmodem_manager=false -Dofono=false -Dwifi=false -Dconcheck=false -Dteamdctl=false \
  -Dbluez5_dun=false -Dnmtui=false -Dnmcli=false -Dreadline=none -Difcfg_rh=false \
  -Difupdown=false -Dnm_cloud_setup=false -Debpf=false -Dld_gc=false >/dev/null

# The daemon's link step reads which symbols the plugin needs: strip only after.
ninja -j "$(nproc)" -C ../out src/core/devices/ovs/libnm-device-plugin-ovs.so src/core/NetworkManager | tail -n 1
strip -o /build/NetworkManager ../out/src/core/NetworkManager
strip -o /build/libnm-device-plugin-ovs.so ../out/src/core/devices/ovs/libnm-device-plugin-ovs.so
