#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Starts one container of the pod ovnkube-node, with the flags and sysctls that
# cluster-network-operator uses from OpenShift 4.16 on.
#
# Usage: ovnkube-lib.sh CONTAINER
set -eu
ctl=/usr/share/ovn/scripts/ovn-ctl
account=/run/secrets/kubernetes.io/serviceaccount
mkdir -p /var/log/ovn /run/ovn-kubernetes

# ovnkube waits until the northbound database has the zone's name.
name_zone() {
  until ovn-nbctl -t 5 set NB_Global . name="$K8S_NODE" options:name="$K8S_NODE" \
    options:northd_probe_interval=10000 options:northd-backoff-interval-ms=300; do sleep 1; done
}

case $1 in
  nbdb)
    name_zone &
    exec $ctl --no-monitor --db-nb-sock=/run/ovn/ovnnb_db.sock --db-nb-file=/etc/ovn/ovnnb_db.db \
      --ovn-nb-log="-vconsole:info -vfile:off" run_nb_ovsdb
    ;;
  sbdb)
    exec $ctl --no-monitor --db-sb-sock=/run/ovn/ovnsb_db.sock --db-sb-file=/etc/ovn/ovnsb_db.db \
      --ovn-sb-log="-vconsole:info -vfile:off" run_sb_ovsdb
    ;;
  northd)
    exec ovn-northd --no-chdir -vconsole:info -vfile:off --pidfile=/run/ovn/ovn-northd.pid
    ;;
  ovn-controller)
    exec ovn-controller unix:/run/openvswitch/db.sock --no-chdir -vconsole:info -vfile:off \
      --pidfile=/run/ovn/ovn-controller.pid
    ;;
  ovnkube-controller)
    mkdir -p /var/lib/cni/bin
    cp /usr/share/ovn/ovn-k8s-cni-overlay /var/lib/cni/bin/.ovn-k8s-cni-overlay
    mv /var/lib/cni/bin/.ovn-k8s-cni-overlay /var/lib/cni/bin/ovn-k8s-cni-overlay
    for tables in iptables ip6tables; do
      $tables -t raw -A PREROUTING -p udp --dport 6081 -j NOTRACK
      $tables -t raw -A OUTPUT -p udp --dport 6081 -j NOTRACK
    done
    # Without "ipForwarding: Global" in the cluster's network configuration.
    sysctl -w net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0
    exec ovnkube --init-ovnkube-controller "$K8S_NODE" --init-node "$K8S_NODE" \
      --config-file=/run/ovnkube-config/ovnkube.conf --cni-conf-dir=/etc/kubernetes/cni/net.d \
      --k8s-apiserver="$API_SERVER" --k8s-cacert=$account/ca.crt --k8s-token="$(cat $account/token)" \
      --ovn-empty-lb-events --loglevel 4 --inactivity-probe=180000 \
      --gateway-mode shared --gateway-interface br-ex --encap-ip="$NODE_IP" \
      --metrics-bind-address 127.0.0.1:29103 --ovn-metrics-bind-address 127.0.0.1:29105 \
      --export-ovs-metrics --disable-snat-multiple-gws --enable-multicast --zone "$K8S_NODE" \
      --enable-interconnect --acl-logging-rate-limit 20 --disable-forwarding
    ;;
  *)
    echo "usage: $0 nbdb|sbdb|northd|ovn-controller|ovnkube-controller" >&2
    exit 1
    ;;
esac
