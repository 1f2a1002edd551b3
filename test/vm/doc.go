// Package vm boots and handles a real machine for tests: the image that
// test/image builds, run by QEMU, with hardware acceleration where it works
// and software emulation elsewhere.
//
// A machine has two network cards, or more. eth0 is the uplink, a tap in a
// network namespace that the caller gives: it is the product's, and may be moved
// into a bridge, cut or lost; with Config.NICs there are eth1 and so on too, and
// package lab has what to plug them into. ctl0 is the tests' control channel,
// ssh over QEMU's user networking to a port on the host's loopback, and works
// whatever happens to the others. [Machine] embeds the control [Channel];
// [Machine.Uplink] is the other way in, the one an administrator would use.
//
// Everything here needs root. Nothing outlives the process: QEMU, ssh and the
// tap end with it, however it ends.
package vm
