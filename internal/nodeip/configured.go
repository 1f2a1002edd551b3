// SPDX-License-Identifier: Apache-2.0

package nodeip

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// Configured returns the addresses that kubelet's drop-in contains, or none
// if the drop-in does not exist.
func Configured() (Addresses, error) {
	tree, err := hostfs.OpenTree("/")
	if err != nil {
		return Addresses{}, err
	}
	defer tree.Close()
	there, err := tree.Exists(KubeletDropIn)
	if err != nil || !there {
		return Addresses{}, err
	}
	content, _, err := tree.ReadFile(KubeletDropIn)
	return parseDropIn(content), err
}
