// SPDX-License-Identifier: Apache-2.0

// Package ovs plans how the host's uplink is attached to the Open vSwitch
// bridge br-ex, which OVN-Kubernetes requires, without interrupting the
// network.
//
// Gather collects facts, Plan decides from them alone, and package migrate
// acts. The migration goes through NetworkManager, inside one of its
// checkpoints. First br-ex gets a copy of the uplink's addresses with a higher
// metric. Then the NIC is attached to the bridge in the database and activated
// with its new profile, so that the addresses change the interface without
// interruption. Finally br-ex renews the lease itself.
//
// A checkpoint does not survive a restart of NetworkManager and does not cover
// database rows. Therefore a pending file, a systemd timer and a unit at boot
// protect the migration until it is verified and saved: see pending.go and
// timer.go in package migrate.
package ovs
