// SPDX-License-Identifier: Apache-2.0

package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// A service that crashes during every repair and is restarted must not repair more often than the limits
// permit.
func TestRepairLimitsSurviveRestarts(t *testing.T) {
	dir, now := t.TempDir(), time.Unix(1795290000, 0)
	repairs := 0
	for range 120 { // a restart every 30 seconds
		now = now.Add(30 * time.Second)
		history, err := loadRepairs(dir)
		flowtest.NoError(t, err)
		change := activeChange(report.NodeDeleted, now)
		if _, due := nextRepair([]Change{change}, history.records, now); due {
			flowtest.NoError(t, history.add(dir, joinstate.Repair{Reason: change.Reason, At: now, Since: change.Since}))
			repairs++
		}
	}
	if repairs != maxRepairs {
		t.Errorf("%d repairs in an hour, want %d", repairs, maxRepairs)
	}
	info, err := os.Stat(filepath.Join(dir, joinstate.RepairsFile))
	flowtest.NoError(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("the file has mode %o", info.Mode())
	}
}

// A file that cannot be read must not stop the service. Only a damaged file is replaced.
func TestUnreadableRepairHistory(t *testing.T) {
	for name, test := range map[string]struct {
		content  string
		replaced bool
	}{
		"damaged":         {`{"apiVersion":"hcp-node-agent.io/v1alpha1","kind":"RepairHis`, true},
		"another version": {`{"apiVersion":"hcp-node-agent.io/v9","kind":"RepairHistory","repairs":{}}`, false},
		"another kind":    {`{"apiVersion":"hcp-node-agent.io/v1alpha1","kind":"JoinState"}`, false},
		"unknown field": {
			`{"apiVersion":"hcp-node-agent.io/v1alpha1","kind":"RepairHistory","repairs":[],"limits":1}`,
			false,
		},
		"null": {`null`, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, joinstate.RepairsFile)
			flowtest.NoError(t, os.WriteFile(path, []byte(test.content), 0o600))
			history, err := loadRepairs(dir)
			if err == nil || !strings.Contains(err.Error(), path) || len(history.records) > 0 {
				t.Fatalf("%+v, %v", history, err)
			}
			if hasRemedy := report.RemedyOf(err) != ""; hasRemedy == test.replaced {
				t.Errorf("remedy %q", report.RemedyOf(err))
			}
			flowtest.NoError(t, history.add(dir, joinstate.Repair{Reason: report.NodeDeleted, At: time.Unix(1795290000, 0)}))
			if len(history.records) != 1 {
				t.Errorf("the repair is not recorded: %+v", history)
			}
			content, err := os.ReadFile(path)
			flowtest.NoError(t, err)
			if replaced := string(content) != test.content; replaced != test.replaced {
				t.Errorf("the file contains %s", content)
			}
		})
	}
}

// The history does not grow without limit.
func TestRepairHistoryIsBounded(t *testing.T) {
	dir, history := t.TempDir(), repairHistory{records: make([]joinstate.Repair, maxRepairRecords)}
	flowtest.NoError(t, history.add(dir, joinstate.Repair{Reason: report.NodeDeleted}))
	loaded, err := loadRepairs(dir)
	flowtest.NoError(t, err)
	if n := len(loaded.records); n != maxRepairRecords || loaded.records[n-1].Reason != report.NodeDeleted {
		t.Errorf("%d records", n)
	}
}
