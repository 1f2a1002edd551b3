// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// An unfinished join keeps the join token, readable only by root and without its
// user data. The token is removed when the join has finished or its records are
// removed.
func TestJoinTokenIsKeptWhileTheJoinIsUnfinished(t *testing.T) {
	dir := t.TempDir()
	userData := flowtest.EncodeUserData(t, "token.example.com", "clusters/token", "33")
	in, err := inputs.Read(t.Context(), inputs.Options{
		Config: config.Join{
			JoinToken: flowtest.WriteTempFile(t, flowtest.EncodeJoinToken(t, certtest.NewCA(t, "ca").PEM, userData, 0)),
		},
		StateDir: dir,
	}, joinstate.State{})
	if err != nil {
		t.Fatal(err)
	}
	j := NewFlow(
		plan.Run{Dir: dir, Inputs: in, Sink: &flowtest.Events{}},
		&machine.Machine{Facts: hostinfo.Facts{MachineID: "one"}},
	)
	if err := j.recordStart(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, joinstate.JoinTokenFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	again, err := inputs.Read(t.Context(), inputs.Options{StateDir: dir, Resume: true}, j.Run.State)
	if err != nil || again.JoinToken == nil || again.JoinToken.ID != in.JoinToken.ID || again.JoinToken.UserData != nil ||
		again.UserData.NodePool() != "clusters/token" {
		t.Errorf("resumed with %v, user data %v, %v", again.JoinToken, again.UserData, err)
	}
	if err := j.finish(true, time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after the join the join token is still there: %v", err)
	}
	if err := inputs.SaveJoinToken(dir, in.JoinToken); err != nil {
		t.Fatal(err)
	}
	if err := inputs.SaveJoinToken(dir, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a join that begins anew without a join token has the old one: %v", err)
	}
}

// An unfinished join keeps user data that fails, because it waits for the server. A
// host that has joined continues with its saved payload.
func TestFailedUserDataIsRemovedAfterAJoin(t *testing.T) {
	for name, test := range map[string]struct {
		state joinstate.State
		left  bool
	}{
		"unfinished": {joinstate.State{Hosted: true}, true},
		"joined":     {joinstate.State{Hosted: true, Finished: time.Unix(2, 0)}, false},
	} {
		userData, err := ignition.NewUserData(ignition.Values{
			Endpoint: "127.0.0.1:1",
			CA:       certtest.NewCA(t, "ca").PEM,
			NodePool: "clusters/a",
			Hash:     "11",
			Token:    []byte(flowtest.UUID),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		j := NewFlow(plan.Run{
			Dir: t.TempDir(), Inputs: inputs.Inputs{UserData: userData, NewUserData: true}, State: test.state,
		}, nil)
		if err := joinstate.SaveFile(j.Run.Dir, joinstate.UserDataFile, []byte("user data")); err != nil {
			t.Fatal(err)
		}
		if _, err := fetchPayload(ctx, j, report.Log{}); err == nil {
			t.Errorf("%s: nobody serves a payload there", name)
		}
		if left, err := joinstate.LoadFile(j.Run.Dir, joinstate.UserDataFile); err != nil || (left != nil) != test.left {
			t.Errorf("%s: the user data is there: %v, %v", name, left != nil, err)
		}
	}
}

// User data of a standalone cluster is kept, so that a later join gets the current
// configuration. User data with a token is removed.
func TestFinishKeepsUserDataOfAStandaloneCluster(t *testing.T) {
	for token, kept := range map[string]bool{"": true, flowtest.UUID: false} {
		userData, err := ignition.NewUserData(ignition.Values{
			Endpoint: "api-int.example.com:22623",
			CA:       certtest.NewCA(t, "ca").PEM,
			Token:    []byte(token),
		})
		if err != nil {
			t.Fatal(err)
		}
		var logged flowtest.Events
		j := NewFlow(plan.Run{
			Dir:    t.TempDir(),
			Sink:   &logged,
			State:  joinstate.State{Started: time.Unix(1, 0)},
			Inputs: inputs.Inputs{UserData: userData},
		}, nil)
		if err := joinstate.SaveFile(j.Run.Dir, joinstate.UserDataFile, []byte("user data")); err != nil {
			t.Fatal(err)
		}
		if err := j.finish(true, time.Second); err != nil {
			t.Fatal(err)
		}
		if left, err := joinstate.LoadFile(j.Run.Dir, joinstate.UserDataFile); err != nil || (left != nil) != kept {
			t.Errorf("with token %q: kept %q, %v", token, left, err)
		}
	}
}
