package bootstrap

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/networkplugin"
)

// Changes that the network plugin has made must never be recorded as the host's
// original state.
func TestPluginStateIsRecordedOnceAndOnlyBeforeThePluginRuns(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("reading the packet filter needs root")
	}
	for name, test := range map[string]struct {
		state State
		want  []string // steps with a record
	}{
		"first join":               {State{Started: time.Now(), LastStep: "host"}, []string{"network"}},
		"step alone":               {State{}, []string{"network"}},
		"joined by an older agent": {State{Started: time.Now(), Finished: time.Now(), LastStep: "schedulable"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := ledger.Open(t.TempDir(), ledger.Drivers{
				Snapshots: map[ledger.Kind]ledger.SnapshotDriver{networkplugin.Kind: &networkplugin.Driver{}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			j := &operation{state: test.state, localHost: &localHost{ledger: l}}
			for _, step := range []string{"network", "runtime"} {
				if err := j.recordPlugin(t.Context(), step); err != nil {
					t.Fatal(err)
				}
			}
			var steps []string
			for _, item := range l.Items() {
				steps = append(steps, item.Step)
			}
			if diff := cmp.Diff(test.want, steps); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOVNDirectoriesAreRestored(t *testing.T) {
	for _, dir := range []string{
		"/var/lib/ovn-ic", "/var/lib/ovn", "/var/log/ovn", "/var/log/ovn-kubernetes", "/run/ovn-ic", "/run/ovn", "/run/ovn-kubernetes",
	} {
		if !slices.Contains(externalDirs(), dir) {
			t.Errorf("leave does not restore %s", dir)
		}
	}
}
