// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// The state of a cloned machine is not valid on its clone.
func TestCheckMachineIDRefusesAClonedState(t *testing.T) {
	userData, err := ignition.ParseUserData(flowtest.EncodeUserData(t, "a.example.com", "clusters/one", "11"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	first := newJoinRecord(
		&plan.Run{Dir: dir, Request: request.Request{UserData: userData}},
		&machine.Machine{Facts: hostinfo.Facts{MachineID: "one"}},
	)
	if err := first.start(); err != nil {
		t.Fatal(err)
	}
	state, err := joinstate.Read(dir)
	if err != nil || !state.Exists() || state.MachineID != "one" || state.NodePool != "clusters/one" ||
		state.ConfigHash != "11" || !state.Hosted {
		t.Fatalf("state %+v, %v", state, err)
	}
	kept, err := joinstate.LoadFile(dir, joinstate.UserDataFile)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ignition.ParseUserData(kept); err != nil || !again.HasToken() ||
		again.Source.Host != "a.example.com" {
		t.Errorf("kept user data %s, %v", again, err)
	}
	again := newJoinRecord(&plan.Run{Dir: dir, State: state}, &machine.Machine{Facts: hostinfo.Facts{MachineID: "one"}})
	if err := again.start(); err != nil || !again.run.State.Started.Equal(state.Started) {
		t.Errorf("going on: %v, begun %v and %v", err, state.Started, again.run.State.Started)
	}
	clone := newJoinRecord(&plan.Run{Dir: dir, State: state}, &machine.Machine{Facts: hostinfo.Facts{MachineID: "two"}})
	err = clone.start()
	if report.CodeOf(err) != report.Refused || !strings.Contains(string(report.RemedyOf(err)),
		"mv "+dir+" "+dir+".clone") {
		t.Errorf("clone: %v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
	}
}
