// SPDX-License-Identifier: Apache-2.0

package service

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/monitor"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func activeChange(reason report.Reason, since time.Time) monitor.Change {
	return monitor.Change{Finding: report.Finding{Reason: reason, Message: string(reason)}, Since: since}
}

func TestNextRepair(t *testing.T) {
	now := time.Unix(1795290000, 0)
	since := now.Add(-time.Minute)
	deleted, drift := activeChange(report.NodeDeleted, since), activeChange(report.ConfigurationDrift, since)
	address, name := activeChange(report.NodeAddressChanged, since), activeChange(report.HostNameChanged, since)
	at := func(before time.Duration, change monitor.Change) repairRecord {
		return repairRecord{reason: change.Reason, since: change.Since, at: now.Add(-before)}
	}
	earlier := activeChange(report.NodeDeleted, now.Add(-50*time.Minute))
	for test, c := range map[string]struct {
		active  []monitor.Change
		history []repairRecord
		want    report.Reason
	}{
		"nothing":                           {nil, nil, ""},
		"a finding without a repair":        {[]monitor.Change{activeChange(report.DiskPressure, since), activeChange(report.NodeAddressMissing, since)}, nil, ""},
		"new CA, deleted Node":              {[]monitor.Change{deleted, activeChange(report.ClusterCANotTrusted, since)}, nil, report.ClusterCANotTrusted},
		"deleted Node":                      {[]monitor.Change{deleted}, nil, report.NodeDeleted},
		"address":                           {[]monitor.Change{address}, nil, report.NodeAddressChanged},
		"configuration before registration": {[]monitor.Change{deleted, address, drift}, nil, report.ConfigurationDrift},
		"addresses before registration":     {[]monitor.Change{deleted, address}, nil, report.NodeAddressChanged},
		"kubelet would not start":           {[]monitor.Change{deleted, name}, nil, ""},
		"repaired just now":                 {[]monitor.Change{deleted}, []repairRecord{at(4*time.Minute, deleted)}, ""},
		"repaired in vain":                  {[]monitor.Change{deleted}, []repairRecord{at(5*time.Minute, deleted)}, report.NodeDeleted},
		"repaired in vain twice":            {[]monitor.Change{deleted}, []repairRecord{at(20*time.Minute, deleted), at(9*time.Minute, deleted)}, ""},
		"another finding meanwhile":         {[]monitor.Change{deleted, drift}, []repairRecord{at(time.Minute, drift)}, report.NodeDeleted},
		"a new occurrence":                  {[]monitor.Change{deleted}, []repairRecord{at(2*time.Minute, earlier)}, report.NodeDeleted},
		"repeated occurrences":              {[]monitor.Change{deleted}, []repairRecord{at(50*time.Minute, earlier), at(20*time.Minute, earlier), at(10*time.Minute, earlier)}, ""},
		"repeated occurrences, an hour ago": {[]monitor.Change{deleted}, []repairRecord{at(61*time.Minute, earlier), at(20*time.Minute, earlier), at(10*time.Minute, earlier)}, report.NodeDeleted},
		"repeated occurrences of another":   {[]monitor.Change{drift}, []repairRecord{at(50*time.Minute, earlier), at(20*time.Minute, earlier), at(10*time.Minute, earlier)}, report.ConfigurationDrift},
	} {
		if got, due := nextRepair(c.active, c.history, now); got.Reason != c.want || due != (c.want != "") {
			t.Errorf("%s: %q (%t), want %q", test, got.Reason, due, c.want)
		}
	}
}

// A repair that never helps must become rare and must not end.
func TestRepairBackoff(t *testing.T) {
	began := time.Unix(1795290000, 0)
	change := activeChange(report.NodeDeleted, began)
	var history []repairRecord
	var got []string
	for minute := range 48 * 60 {
		now := began.Add(time.Duration(minute) * time.Minute)
		if _, due := nextRepair([]monitor.Change{change}, history, now); due {
			history = append(history, repairRecord{reason: change.Reason, since: change.Since, at: now})
			got = append(got, fmt.Sprint(minute))
		}
	}
	want := []string{"0", "5", "15", "60", "100", "180", "340", "660", "1020", "1380", "1740", "2100", "2460", "2820"}
	if !slices.Equal(got, want) {
		t.Errorf("repairs after minutes %v, want %v", got, want)
	}
}

// Without repair: true, the service changes nothing.
func TestNoRepairUnlessRequested(t *testing.T) {
	m := &nodeMonitor{} // a repair would need the host
	if m.repairActive(t.Context(), []monitor.Change{activeChange(report.NodeDeleted, time.Now())}) {
		t.Error("a finding was repaired")
	}
}
