// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"
	"testing"
)

func TestOVNDirectoriesAreRestored(t *testing.T) {
	for _, dir := range []string{
		"/var/lib/ovn-ic", "/var/lib/ovn", "/var/log/ovn", "/var/log/ovn-kubernetes", "/run/ovn-ic", "/run/ovn",
		"/run/ovn-kubernetes",
	} {
		if !slices.Contains(ClusterDirs(), dir) {
			t.Errorf("leave does not restore %s", dir)
		}
	}
}
