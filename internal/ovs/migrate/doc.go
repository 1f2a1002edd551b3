// SPDX-License-Identifier: Apache-2.0

// Package migrate attaches the uplink to br-ex through NetworkManager, as
// package ovs decided, and restores the uplink on a failure or when the host
// leaves. Start reading at Driver.Set.
//
// A migration runs inside a NetworkManager checkpoint. Before the first change
// it writes a durable record (pending.go). As long as that record exists, a
// systemd timer, a unit at boot and the next run all restore the uplink
// (timer.go).
//
// # Restoration
//
// restoreProfile can start in every state of a migration, and can be repeated.
// The uplink has one of three states when it starts:
//
//	original profile, active           nothing is attached yet: only the agent's
//	                                   profiles and br-ex are removed
//	original profile, no addresses     a bond that keeps its profile until the next
//	                                   boot: its addresses are reapplied
//	another profile, or none           the original profile is activated
//
// The second and the third state lead to the first one. The addresses stay
// usable meanwhile:
//
//	another profile
//	  | raiseBridgeMetrics             traffic prefers the uplink to br-ex
//	  | pinMAC (bonds)                 the DHCP server recognizes the host
//	  v
//	activating --- no lease in 3 s --> holdAddress: the addresses are static
//	  |                                  |
//	  | lease                            | br-ex removed, verified
//	  v                                  v
//	br-ex removed                      releaseAddress
//	  |                                  |- lease ------> profile without static addresses
//	  | verified                         |- late lease -> profile activated again
//	  v                                  '- no lease ---> the static addresses remain
//	restored                                              until a server responds
//
// After the removal of br-ex, verify distinguishes an unusable uplink, which is
// an error, from one with another address than before, which is a warning. If a
// restoration fails, revert rolls back to NetworkManager's checkpoint and
// restores the profile once more.
package migrate
