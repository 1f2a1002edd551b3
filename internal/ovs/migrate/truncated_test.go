// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

func TestIsTruncated(t *testing.T) {
	empty := hostfs.Info{Type: hostfs.Regular, Inode: 7}
	for name, test := range map[string]struct {
		first, later hostfs.Info
		want         bool
	}{
		"empty since the power cut": {empty, empty, true},
		"filled meanwhile":          {empty, hostfs.Info{Type: hostfs.Regular, Inode: 7, Size: 1}, false},
		"made anew meanwhile":       {empty, hostfs.Info{Type: hostfs.Regular, Inode: 8}, false},
		"gone meanwhile":            {empty, hostfs.Info{}, false},
		"not there":                 {hostfs.Info{}, hostfs.Info{}, false},
		"a link to another place":   {hostfs.Info{Type: hostfs.Symlink}, hostfs.Info{Type: hostfs.Symlink}, false},
	} {
		if got := isTruncated(test.first, test.later); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
