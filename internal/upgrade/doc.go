// SPDX-License-Identifier: Apache-2.0

// Package upgrade moves a joined node to another payload: it stages the software while pods run, drains the node if
// a change requires it, and runs the steps of a join. If the node does not become schedulable, it restores the
// previous generation: payload, software and settings. Start reading at Upgrade.
package upgrade
