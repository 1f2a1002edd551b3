// SPDX-License-Identifier: Apache-2.0

// Package servicelog reads the errors of kubelet, CRI-O and other units from the journal, makes
// their lines readable, and names the known causes. Start reading at Explain.
package servicelog
