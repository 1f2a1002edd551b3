// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Processes returns the processes that run as a user, by real, effective, saved
// or file system user ID, like userdel(8).
func Processes(uid int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue // the process has exited
		}
		if runsAs(string(status), uid) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func runsAs(status string, uid int) bool {
	for line := range strings.Lines(status) {
		ids, found := strings.CutPrefix(line, "Uid:")
		if !found {
			continue
		}
		for _, id := range strings.Fields(ids) {
			if id == strconv.Itoa(uid) {
				return true
			}
		}
	}
	return false
}
