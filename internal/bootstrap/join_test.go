package bootstrap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Invalid inputs must be reported before anything is opened or written.
func TestJoinRefusesInvalidInputsBeforeAnyChange(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"no stub":        {Options{Config: config.Defaults()}, "no user-data stub"},
		"no such step":   {Options{Config: config.Join{Skip: []string{"nothing"}}}, "there is no such step"},
		"nothing begun":  {Options{Resume: true}, "no unfinished join"},
		"no such stub":   {Options{Config: config.Join{UserData: "/gone/stub.ign"}}, "--user-data"},
		"not even a dir": {Options{Config: config.Join{UserData: t.TempDir()}}, "--user-data"},
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

func TestJoinToAnotherNodePoolIsRefused(t *testing.T) {
	stub := func(pool string) *ignition.UserData {
		s, err := ignition.NewUserData(ignition.Values{Endpoint: "a.example.com", CA: certtest.NewCA(t, "ca").PEM, NodePool: pool})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	joined := State{NodePool: "clusters/one", Started: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
	for name, test := range map[string]struct {
		stub    *ignition.UserData
		state   State
		refused bool
	}{
		"first join":             {stub("clusters/one"), State{}, false},
		"same pool":              {stub("clusters/one"), joined, false},
		"no stub, goes on":       {nil, joined, false},
		"stub names none":        {stub(""), joined, false},
		"joined by values alone": {stub("clusters/two"), State{Started: joined.Started}, false},
		"another pool":           {stub("clusters/two"), joined, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := (&operation{inputs: inputs{userData: test.stub}, state: test.state}).checkNodePool()
			if (err != nil) != test.refused {
				t.Fatalf("error %v", err)
			}
			if !test.refused {
				return
			}
			const want = "this host belongs to NodePool clusters/one (join of 2026-01-02); the stub is of NodePool clusters/two"
			if err.Error() != want || report.CodeOf(err) != report.Refused || !strings.HasPrefix(report.RemedyOf(err), "hcp-node-agent leave") {
				t.Errorf("error %v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
			}
		})
	}
}

// The state of a cloned machine is not valid on its clone.
func TestCheckMachineIDRefusesAClonedState(t *testing.T) {
	stub, err := ignition.ParseUserData(stubOf(t, "a.example.com", "clusters/one", "11"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	first := &operation{dir: dir, inputs: inputs{userData: stub}, localHost: &localHost{facts: hostinfo.Facts{MachineID: "one"}}}
	if err := first.recordStart(); err != nil {
		t.Fatal(err)
	}
	state, err := readState(dir)
	if err != nil || !state.Exists() || state.MachineID != "one" || state.NodePool != "clusters/one" || state.ConfigHash != "11" || !state.Hosted {
		t.Fatalf("state %+v, %v", state, err)
	}
	kept, err := loadFile(dir, userDataFile)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ignition.ParseUserData(kept); err != nil || !again.HasToken() || again.Source.Host != "a.example.com" {
		t.Errorf("kept stub %s, %v", again, err)
	}
	again := &operation{dir: dir, state: state, localHost: &localHost{facts: hostinfo.Facts{MachineID: "one"}}}
	if err := again.recordStart(); err != nil || !again.state.Started.Equal(state.Started) {
		t.Errorf("going on: %v, begun %v and %v", err, state.Started, again.state.Started)
	}
	clone := &operation{dir: dir, state: state, localHost: &localHost{facts: hostinfo.Facts{MachineID: "two"}}}
	err = clone.recordStart()
	if report.CodeOf(err) != report.Refused || !strings.Contains(report.RemedyOf(err), "rm -rf "+dir) {
		t.Errorf("clone: %v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
	}
}

func TestFinishRemovesTheUserData(t *testing.T) {
	for changed, want := range map[bool]string{
		true:  "head  worker-7 is Ready",
		false: "head  worker-7 is Ready; all was as it should be, nothing was changed",
	} {
		var story events
		j := &operation{config: config.Join{Until: "ready"}, dir: t.TempDir(), sink: &story, name: "worker-7", state: State{Started: time.Now(), Hosted: true}}
		if err := saveFile(j.dir, userDataFile, []byte("secret")); err != nil {
			t.Fatal(err)
		}
		if err := j.finish(changed); err != nil {
			t.Fatal(err)
		}
		state, err := readState(j.dir)
		if err != nil || state.Finished.IsZero() {
			t.Errorf("state %+v, %v", state, err)
		}
		if left, err := loadFile(j.dir, userDataFile); err != nil || left != nil {
			t.Errorf("the stub is still there: %q, %v", left, err)
		}
		if len(story) != 1 || story[0] != want {
			t.Errorf("said %q, want %q", story, want)
		}
	}
}

func TestHeadline(t *testing.T) {
	for want, j := range map[string]*operation{
		"this host joins": {localHost: &localHost{}},
		"worker-7 joins NodePool clusters/demo by ignition.example.com": {
			localHost: &localHost{facts: hostinfo.Facts{Hostname: "worker-7"}}, state: State{NodePool: "clusters/demo", Endpoint: "ignition.example.com"},
		},
	} {
		if got := j.headline(); got != want {
			t.Errorf("headline %q, want %q", got, want)
		}
	}
}
