// SPDX-License-Identifier: Apache-2.0

// Package doctor runs read-only diagnostics of this host in independent sections. It
// opens the ledger read-only and imports no flow that changes the host. Start reading at Run
// and sections.
package doctor
