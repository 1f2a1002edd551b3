// SPDX-License-Identifier: Apache-2.0

// Package remediation decides which unresponsive nodes of a NodePool are remediated. Decide is a pure function: a
// controller gathers the state of the nodes, records the decision, and does the actions.
//
// A node is recorded before the action, so that no restart and no second replica remediates more nodes than the policy
// allows. The record remains until the node is back.
package remediation
