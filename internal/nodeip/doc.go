// SPDX-License-Identifier: Apache-2.0

// Package nodeip chooses the node addresses that are registered in the cluster and
// writes them for kubelet, CRI-O and the cluster's own units.
//
// It replaces nodeip-configuration.service, which the payloads of platform None
// do not contain. Choose is the pure decision, Await reads the host, Files
// returns the changes for the ledger.
package nodeip
