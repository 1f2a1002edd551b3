// Package differential compares the agent's apply with the real Ignition: the
// same config on two copies of the same tree must give the same tree, and where
// Ignition refuses, the agent refuses and has changed nothing.
//
// The tests need root, for owners and modes, and the build tag differential.
// What the two do differently on purpose is in differences.go, with reasons.
package differential
