// SPDX-License-Identifier: Apache-2.0

// Package joinstate reads and writes the persistent state of a join in /var/lib/hcp-node-agent:
// the configuration, the cluster, the completed steps and whether a leave is unfinished. It is
// the only record of progress; the ledger records the changes to the host.
package joinstate
