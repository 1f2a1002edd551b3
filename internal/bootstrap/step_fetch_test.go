// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

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
			Dir: t.TempDir(), Request: request.Request{UserData: userData, NewUserData: true}, State: test.state,
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
