// SPDX-License-Identifier: Apache-2.0

// Package machine opens the parts of the running host that a command needs: its file tree,
// systemd, NetworkManager, facts, and the ledger with its drivers. Acquire waits until no
// other run of the agent changes the host.
package machine
