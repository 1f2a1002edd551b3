// SPDX-License-Identifier: Apache-2.0

// Package nmstate reads the br-ex that a payload declares by NMState (nmstate.io), in the part of the format that the
// agent builds: one port, which is an interface, a bond or a VLAN, and addresses by DHCP, by routers or static ones.
//
// From OpenShift 4.16 on, the payload's nmstate-configuration.service applies the file of the host, or else that of the
// cluster, instead of configure-ovs.sh (machine-config-operator,
// templates/common/_base/files/nmstate-configuration.yaml).
package nmstate
