// SPDX-License-Identifier: Apache-2.0

package nodeip

import (
	"fmt"
	"os"
	"strings"

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

// Running returns the addresses in the environment of a running kubelet, or none if they
// cannot be read.
func Running(pid int) Addresses {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return Addresses{} // the process has just ended
	}
	for variable := range strings.SplitSeq(string(environment), "\x00") {
		if list, found := strings.CutPrefix(variable, "KUBELET_NODE_IPS="); found {
			return parseList(list)
		}
	}
	return Addresses{}
}
