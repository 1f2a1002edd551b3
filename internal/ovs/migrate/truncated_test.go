package migrate

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

func TestIsTruncated(t *testing.T) {
	empty := host.Info{Type: host.Regular, Inode: 7}
	for name, test := range map[string]struct {
		first, later host.Info
		want         bool
	}{
		"empty since the power cut": {empty, empty, true},
		"filled meanwhile":          {empty, host.Info{Type: host.Regular, Inode: 7, Size: 1}, false},
		"made anew meanwhile":       {empty, host.Info{Type: host.Regular, Inode: 8}, false},
		"gone meanwhile":            {empty, host.Info{}, false},
		"not there":                 {host.Info{}, host.Info{}, false},
		"a link to another place":   {host.Info{Type: host.Symlink}, host.Info{Type: host.Symlink}, false},
	} {
		if got := isTruncated(test.first, test.later); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
