// SPDX-License-Identifier: Apache-2.0

// Package migrate attaches the uplink to br-ex through NetworkManager, as
// package ovs decided, and restores the uplink on a failure or when the host
// leaves.
//
// A migration runs inside a NetworkManager checkpoint. Before the first change
// it writes a durable record (pending.go). As long as that record exists, a
// systemd timer, a unit at boot and the next run all restore the uplink
// (timer.go). Start reading at Driver.Make.
package migrate
