// SPDX-License-Identifier: Apache-2.0

package service

import (
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/autojoin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// A leave that a reboot interrupted must not become a join, and a partially
// restored host must not be monitored.
func TestServiceDoesNotJoinDuringALeave(t *testing.T) {
	for _, finished := range []time.Time{{}, time.Now()} {
		dir := t.TempDir()
		userData := flowtest.WriteFileWithTime(t, dir, "user-data.ign", 0o600, time.Now().Add(time.Hour))
		state := joinstate.State{Started: time.Now(), Finished: finished, LastStep: "client-certificate", Leaving: time.Now()}
		if err := joinstate.Write(dir, state); err != nil {
			t.Fatal(err)
		}
		for name, run := range map[string]func() error{
			"service": func() error {
				return Run(t.Context(), Options{Options: request.Options{StateDir: dir}, AutoJoin: autojoin.Files{Dir: dir}})
			},
			"join": func() error {
				_, err := bootstrap.Join(t.Context(), request.Options{StateDir: dir, Config: config.Defaults()})
				return err
			},
			"join that the service begins": func() error {
				_, err := bootstrap.Join(t.Context(), request.Options{
					StateDir: dir, Config: config.Join{UserData: userData},
					Service: true,
				})
				return err
			},
		} {
			err := run()
			if report.CodeOf(err) != report.Refused || !strings.Contains(string(report.RemedyOf(err)), "hcp-node-agent leave") ||
				(attempt{err: err}).isRetryable() {
				t.Errorf("%s, finished %v: %v", name, !finished.IsZero(), err)
			}
		}
	}
}
