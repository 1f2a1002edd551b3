// SPDX-License-Identifier: Apache-2.0

// Package controller runs the controllers of hcp-node-admin in a hosted cluster. One approves the CSRs of nodes by
// their NodeEnrollments; another one writes the state of each node to the status of its NodeEnrollment.
//
// Any number of replicas can run: the one with the Lease works. What it must not lose, the key with which a join token
// was used, is in the status of the NodeEnrollment, and is written before the CSR is approved.
package controller
