package ovs

import (
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

func TestTorn(t *testing.T) {
	now := time.Now()
	before := now.Add(-time.Minute)
	for name, test := range map[string]struct {
		file host.Info
		want bool
	}{
		"empty since the power cut": {host.Info{Type: host.Regular, Changed: before}, true},
		"being made":                {host.Info{Type: host.Regular, Changed: now.Add(-time.Second)}, false},
		"a database":                {host.Info{Type: host.Regular, Size: 1, Changed: before}, false},
		"not there":                 {host.Info{}, false},
		"a link to another place":   {host.Info{Type: host.Symlink, Changed: before}, false},
		"the clock has gone back":   {host.Info{Type: host.Regular, Changed: now.Add(time.Hour)}, false},
	} {
		if got := torn(test.file, now); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
