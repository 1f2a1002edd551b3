// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// An unfinished join keeps the join token, readable only by root and without its
// user data. The token is removed when the join has finished or its records are
// removed.
func TestJoinTokenIsKeptWhileTheJoinIsUnfinished(t *testing.T) {
	dir := t.TempDir()
	userData := flowtest.EncodeUserData(t, "token.example.com", "clusters/token", "33")
	in, err := request.Read(t.Context(), request.Options{
		Config: config.Join{
			JoinToken: flowtest.WriteTempFile(t, flowtest.EncodeJoinToken(t, certtest.NewCA(t, "ca").PEM, userData, 0)),
		},
		StateDir: dir,
	}, joinstate.State{}, request.UserDataRequired)
	if err != nil {
		t.Fatal(err)
	}
	record := newJoinRecord(
		&plan.Run{Dir: dir, Request: in, Sink: &flowtest.Events{}},
		&machine.Machine{Facts: hostinfo.Facts{MachineID: "one"}},
	)
	if err := record.start(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, joinstate.JoinTokenFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	again, err := request.Read(t.Context(), request.Options{StateDir: dir, Resume: true}, record.run.State,
		request.UserDataRequired)
	if err != nil || again.JoinToken == nil || again.JoinToken.ID != in.JoinToken.ID || again.JoinToken.UserData != nil ||
		again.UserData.NodePool() != "clusters/token" {
		t.Errorf("resumed with %v, user data %v, %v", again.JoinToken, again.UserData, err)
	}
	if err := record.finish(true, time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after the join the join token is still there: %v", err)
	}
	if err := request.SaveJoinToken(dir, in.JoinToken); err != nil {
		t.Fatal(err)
	}
	if err := request.SaveJoinToken(dir, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a join that begins anew without a join token has the old one: %v", err)
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
		record := newJoinRecord(&plan.Run{
			Dir:     t.TempDir(),
			Sink:    &logged,
			State:   joinstate.State{Started: time.Unix(1, 0)},
			Request: request.Request{UserData: userData},
		}, nil)
		if err := joinstate.SaveFile(record.run.Dir, joinstate.UserDataFile, []byte("user data")); err != nil {
			t.Fatal(err)
		}
		if err := record.finish(true, time.Second); err != nil {
			t.Fatal(err)
		}
		if left, err := joinstate.LoadFile(record.run.Dir, joinstate.UserDataFile); err != nil || (left != nil) != kept {
			t.Errorf("with token %q: kept %q, %v", token, left, err)
		}
	}
}

func TestFinishRemovesTheUserData(t *testing.T) {
	for changed, want := range map[bool]string{
		true:  "headline  worker-7 is Ready (1m30s)",
		false: "headline  worker-7 is Ready (1m30s); the host was already in the desired state, nothing was changed",
	} {
		var logged flowtest.Events
		record := newJoinRecord(&plan.Run{
			Request: request.Request{Config: config.Join{Until: "ready"}}, Dir: t.TempDir(), Sink: &logged,
			State: joinstate.State{NodeName: "worker-7", Started: time.Now(), Hosted: true},
		}, nil)
		if err := joinstate.SaveFile(record.run.Dir, joinstate.UserDataFile, []byte("secret")); err != nil {
			t.Fatal(err)
		}
		record.durations = map[string]config.Duration{"ready": config.Duration(time.Minute)}
		if err := record.finish(changed, 90*time.Second); err != nil {
			t.Fatal(err)
		}
		state, err := joinstate.Read(record.run.Dir)
		if err != nil || state.Finished.IsZero() || state.StepDurations["ready"] != config.Duration(time.Minute) {
			t.Errorf("state %+v, %v", state, err)
		}
		if left, err := joinstate.LoadFile(record.run.Dir, joinstate.UserDataFile); err != nil || left != nil {
			t.Errorf("the user data is still there: %q, %v", left, err)
		}
		if len(logged) != 1 || logged[0] != want {
			t.Errorf("said %q, want %q", logged, want)
		}
	}
}

func TestHeadline(t *testing.T) {
	for want, record := range map[string]joinRecord{
		"joining this host": newJoinRecord(&plan.Run{}, &machine.Machine{}),
		"joining worker-7 to NodePool clusters/demo through ignition.example.com": newJoinRecord(
			&plan.Run{State: joinstate.State{NodePool: "clusters/demo", Endpoint: "ignition.example.com"}},
			&machine.Machine{Facts: hostinfo.Facts{Hostname: "worker-7"}},
		),
	} {
		if got := record.headline(); got != want {
			t.Errorf("headline %q, want %q", got, want)
		}
	}
}
