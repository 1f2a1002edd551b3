// SPDX-License-Identifier: Apache-2.0

// Package vm runs virtual machines for tests with QEMU, from the image that test/image builds. It
// uses hardware acceleration if that works, and otherwise emulation.
//
// A machine has at least two network cards. eth0 is the uplink: a tap in a network namespace that
// the caller provides. The agent can migrate eth0 into a bridge, and tests can disconnect it.
// With Config.NICs there are also eth1 and so on; package lab provides networks for them. ctl0 is
// the control channel of the tests: ssh over QEMU's user networking to a port on the host's
// loopback interface. It works independently of the other cards. [Machine] embeds the control
// [Channel]; [Machine.Uplink] returns a channel over the uplink, as administrators use.
//
// The package needs root. QEMU, ssh and the tap end with this process, even if it is killed.
package vm
