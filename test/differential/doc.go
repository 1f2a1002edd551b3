// SPDX-License-Identifier: Apache-2.0

// Package differential compares the agent's apply with Ignition. The same config must have the
// same result on two copies of the same tree. Where Ignition fails, the agent must fail without a
// change.
//
// The tests need root, for owners and modes, and the build tag differential. Deliberate
// differences and their reasons are in differences_test.go.
package differential
