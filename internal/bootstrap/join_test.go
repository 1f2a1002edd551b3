// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// Invalid inputs must be reported before anything is opened or written.
func TestJoinRefusesInvalidInputsBeforeAnyChange(t *testing.T) {
	for name, test := range map[string]struct {
		options request.Options
		want    string
	}{
		"no user data":      {request.Options{Config: config.Defaults()}, "no user data was given"},
		"nothing begun":     {request.Options{Resume: true}, "no join is in progress"},
		"no such user data": {request.Options{Config: config.Join{UserData: "/gone/user-data.ign"}}, "--user-data"},
		"not even a dir":    {request.Options{Config: config.Join{UserData: t.TempDir()}}, "--user-data"},
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

// A join that has waited for another run gets the records that this run has changed, and its own standard input.
func TestJoinReadsItsRequestAgainAfterAWait(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root changes a host")
	}
	dir := t.TempDir()
	other, err := ledger.Open(dir, ledger.Drivers{})
	flowtest.NoError(t, err)
	_, err = Join(t.Context(), request.Options{
		Config:   config.Join{UserData: "-"},
		StateDir: dir,
		Stdin:    bytes.NewReader(flowtest.EncodeUserData(t, "a.example.com", "clusters/two", "11")),
		Sink: sinkFunc(func(report.Event) {
			flowtest.NoError(t, joinstate.Write(dir, joinstate.State{Started: time.Now(), NodePool: "clusters/one"}))
			other.Close()
		}),
	})
	const want = "this host belongs to NodePool clusters/one"
	if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, code %d", err, report.CodeOf(err))
	}
}

type sinkFunc func(report.Event)

func (f sinkFunc) Emit(event report.Event) { f(event) }
