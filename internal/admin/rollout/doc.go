// SPDX-License-Identifier: Apache-2.0

// Package rollout decides which nodes of a NodePool are upgraded next. Decide is a pure function: a controller gathers
// the state of the pool and its nodes, records the slots that Decide gives, and delivers them to the nodes.
//
// A slot permits one node to upgrade to one configuration. It is recorded before the node learns of it, so that no
// restart and no second replica gives more slots than the pool allows.
package rollout
