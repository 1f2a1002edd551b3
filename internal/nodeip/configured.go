// SPDX-License-Identifier: Apache-2.0

package nodeip

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Configured returns the addresses that kubelet's drop-in contains, or none
// if the drop-in does not exist.
func Configured() (Addresses, error) {
	content, err := os.ReadFile(KubeletDropIn)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Addresses{}, fmt.Errorf("reading the node IP of kubelet: %w", err)
	}
	return parseDropIn(content), nil
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
