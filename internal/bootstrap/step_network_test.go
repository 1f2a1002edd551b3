// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
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
		state joinstate.State
		want  []string // steps with a record
	}{
		"first join":              {joinstate.State{Started: time.Now()}, []string{"network"}},
		"step alone":              {joinstate.State{}, []string{"network"}},
		"joined without a record": {joinstate.State{Started: time.Now(), Completed: []string{"kubelet"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := ledger.Open(t.TempDir(), ledger.Drivers{
				Snapshots: map[ledger.Kind]ledger.SnapshotDriver{networkplugin.Kind: &networkplugin.Driver{}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			for _, step := range []string{"network", "runtime"} {
				if err := recordPlugin(t.Context(), l, test.state, step); err != nil {
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
