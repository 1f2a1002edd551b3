// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// Invalid inputs must be reported before anything is opened or written.
func TestJoinRefusesInvalidInputsBeforeAnyChange(t *testing.T) {
	for name, test := range map[string]struct {
		options inputs.Options
		want    string
	}{
		"no user data":      {inputs.Options{Config: config.Defaults()}, "no user data was given"},
		"nothing begun":     {inputs.Options{Resume: true}, "no join is in progress"},
		"no such user data": {inputs.Options{Config: config.Join{UserData: "/gone/user-data.ign"}}, "--user-data"},
		"not even a dir":    {inputs.Options{Config: config.Join{UserData: t.TempDir()}}, "--user-data"},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.StateDir = filepath.Join(t.TempDir(), "state")
			did, err := Join(t.Context(), test.options)
			if did || err == nil || !strings.Contains(err.Error(), test.want) || report.CodeOf(err) != report.Usage {
				t.Errorf("changed %t, error %v, code %d", did, err, report.CodeOf(err))
			}
			if _, err := os.Stat(test.options.StateDir); err == nil {
				t.Error("a state directory was made")
			}
		})
	}
}

func TestFinishRemovesTheUserData(t *testing.T) {
	for changed, want := range map[bool]string{
		true:  "headline  worker-7 is Ready (1m30s)",
		false: "headline  worker-7 is Ready (1m30s); the host was already in the desired state, nothing was changed",
	} {
		var logged flowtest.Events
		j := NewFlow(plan.Run{
			Config: config.Join{Until: "ready"}, Dir: t.TempDir(), Sink: &logged,
			State: joinstate.State{NodeName: "worker-7", Started: time.Now(), Hosted: true},
		}, nil)
		if err := joinstate.SaveFile(j.Run.Dir, joinstate.UserDataFile, []byte("secret")); err != nil {
			t.Fatal(err)
		}
		j.durations = map[string]config.Duration{"ready": config.Duration(time.Minute)}
		if err := j.finish(changed, 90*time.Second); err != nil {
			t.Fatal(err)
		}
		state, err := joinstate.Read(j.Run.Dir)
		if err != nil || state.Finished.IsZero() || state.StepDurations["ready"] != config.Duration(time.Minute) {
			t.Errorf("state %+v, %v", state, err)
		}
		if left, err := joinstate.LoadFile(j.Run.Dir, joinstate.UserDataFile); err != nil || left != nil {
			t.Errorf("the user data is still there: %q, %v", left, err)
		}
		if len(logged) != 1 || logged[0] != want {
			t.Errorf("said %q, want %q", logged, want)
		}
	}
}

func TestHeadline(t *testing.T) {
	for want, j := range map[string]*Flow{
		"joining this host": NewFlow(plan.Run{}, &machine.Machine{}),
		"joining worker-7 to NodePool clusters/demo through ignition.example.com": NewFlow(
			plan.Run{State: joinstate.State{NodePool: "clusters/demo", Endpoint: "ignition.example.com"}},
			&machine.Machine{Facts: hostinfo.Facts{Hostname: "worker-7"}},
		),
	} {
		if got := j.headline(); got != want {
			t.Errorf("headline %q, want %q", got, want)
		}
	}
}
