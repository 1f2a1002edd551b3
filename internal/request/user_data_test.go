// SPDX-License-Identifier: Apache-2.0

package request

import (
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// User data that is given in this run differs from that of an earlier run.
func TestWhichUserDataIsNew(t *testing.T) {
	begun := joinstate.State{Started: time.Unix(1, 0)}
	ended := joinstate.State{Started: time.Unix(1, 0), Finished: time.Unix(2, 0)}
	given := config.Join{
		Endpoint: "https://api-int.example.com:22623/config/worker",
		CAFile:   flowtest.WriteTempFile(t, certtest.NewCA(t, "ca").PEM),
	}
	for name, test := range map[string]struct {
		config config.Join
		state  joinstate.State
		resume bool
		fresh  bool
	}{
		"given":          {given, begun, false, true},
		"resumed":        {given, begun, true, false},
		"repeated":       {config.Join{}, begun, false, false},
		"again, later":   {config.Join{}, ended, false, true},
		"resumed, later": {given, ended, true, false},
	} {
		in, err := Read(t.Context(), Options{Config: test.config, StateDir: t.TempDir(), Resume: test.resume}, test.state,
			UserDataRequired)
		if err != nil || in.NewUserData != test.fresh {
			t.Errorf("%s: fresh is %t, %v", name, in.NewUserData, err)
		}
	}
}
