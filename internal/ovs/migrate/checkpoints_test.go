// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// A checkpoint of another program is neither used nor destroyed: nmstatectl
// --no-commit and Cockpit create one, too.
func TestChooseCheckpoints(t *testing.T) {
	const moves, others = networkmanager.Checkpoint("/1"), networkmanager.Checkpoint("/2")
	there := []networkmanager.Checkpoint{moves, others}
	profile := networkmanager.Profile{Settings: networkmanager.Settings{}}
	profile.Settings.Set("connection", "id", ovs.BridgeProfile)
	profile.Settings.Set("connection", "uuid", "1-2-3")
	managed := map[string]string{ovs.BridgeProfile: "1-2-3"}
	for name, test := range map[string]struct {
		origin   ovs.Backup
		profiles []networkmanager.Profile
		want     []networkmanager.Checkpoint
	}{
		"a move that names its own":              {ovs.Backup{ProfileUUIDs: managed, Checkpoint: moves}, nil, there[:1]},
		"a move, before it has changed anything": {ovs.Backup{ProfileUUIDs: managed}, nil, nil},
		"a move, after it has added its profiles": {
			ovs.Backup{ProfileUUIDs: managed, Checkpoint: moves},
			[]networkmanager.Profile{profile},
			there,
		},
		"a finished br-ex": {
			ovs.Backup{ProfileUUIDs: managed, Committed: true},
			[]networkmanager.Profile{profile},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := chooseCheckpoints(test.origin, there, test.profiles); !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestPrepareRevert(t *testing.T) {
	const checkpoint = networkmanager.Checkpoint("/1")
	there := []networkmanager.Checkpoint{checkpoint}
	for name, test := range map[string]struct {
		unfinished  ovs.Backup
		found       bool
		checkpoints []networkmanager.Checkpoint
		leaving     bool
		checkpoint  networkmanager.Checkpoint
		message     string // "": it starts
	}{
		"finished": {leaving: true},
		"finished, and another process at work": {
			checkpoints: there,
			message:     "another program has a NetworkManager checkpoint",
		},
		"a move was killed":  {ovs.Backup{Checkpoint: checkpoint}, true, there, false, checkpoint, ""},
		"a leave was killed": {ovs.Backup{Committed: true}, true, there, true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := prepareRevert(ovs.Backup{Uplink: "eth0"}, test.unfinished, test.found, test.checkpoints)
			if test.message != "" {
				if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), test.message) {
					t.Errorf("it says %v", err)
				}
				return
			}
			if err != nil || o.Uplink != "eth0" || o.Committed != test.leaving || o.Checkpoint != test.checkpoint {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
}
