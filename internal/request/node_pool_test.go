// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func TestJoinToAnotherNodePoolIsRefused(t *testing.T) {
	userData := func(pool string) *ignition.UserData {
		u, err := ignition.NewUserData(ignition.Values{
			Endpoint: "a.example.com",
			CA:       certtest.NewCA(t, "ca").PEM,
			NodePool: pool,
		})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	joined := joinstate.State{NodePool: "clusters/one", Started: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
	for name, test := range map[string]struct {
		userData *ignition.UserData
		state    joinstate.State
		refused  bool
	}{
		"first join":             {userData("clusters/one"), joinstate.State{}, false},
		"same pool":              {userData("clusters/one"), joined, false},
		"no user data, resumed":  {nil, joined, false},
		"user data names none":   {userData(""), joined, false},
		"joined by values alone": {userData("clusters/two"), joinstate.State{Started: joined.Started}, false},
		"another pool":           {userData("clusters/two"), joined, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := (&Request{UserData: test.userData}).checkNodePool(test.state)
			if (err != nil) != test.refused {
				t.Fatalf("error %v", err)
			}
			if !test.refused {
				return
			}
			const want = "this host belongs to NodePool clusters/one (join of 2026-01-02); the user data is for NodePool " +
				"clusters/two"
			if err.Error() != want || report.CodeOf(err) != report.Refused ||
				!strings.HasPrefix(string(report.RemedyOf(err)), "hcp-node-agent leave") {
				t.Errorf("error %v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
			}
		})
	}
}
