// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodecheck"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

func activeChange(reason report.Reason, since time.Time) Change {
	return Change{Finding: report.Finding{Reason: reason, Message: string(reason)}, Since: since}
}

// The machine-config-daemon of a standalone cluster changes files, which a repair would revert.
func TestDriftOfStandaloneClustersIsNotRepaired(t *testing.T) {
	active := []Change{activeChange(report.ConfigurationDrift, time.Time{}), activeChange(report.NodeDeleted, time.Time{})}
	if got := repairable(active, false, false); len(got) != 1 || got[0].Reason != report.NodeDeleted {
		t.Errorf("standalone: %v", got)
	}
	if got := repairable(active, true, false); len(got) != 2 {
		t.Errorf("hosted: %v", got)
	}
}

// Without a connection, no repair begins that needs the API server. A CA that is not trusted can be why there is none.
func TestRepairsWithoutConnection(t *testing.T) {
	var active []Change
	for _, reason := range []report.Reason{
		report.NodeDeleted, report.TrustBundleOutdated, report.PullSecretOutdated, report.ClusterCANotTrusted,
		report.NodeAddressChanged, report.ConfigurationDrift,
	} {
		active = append(active, activeChange(reason, time.Time{}))
	}
	isSame := func(a, b Change) bool { return a.Reason == b.Reason }
	if got := repairable(active, true, true); !slices.EqualFunc(got, active[3:], isSame) {
		t.Errorf("%v", got)
	}
}

// The last check may be from before the link failed: kubelet must keep running then.
func TestNoRestartWhileTheNodeIsUnknown(t *testing.T) {
	failure := errors.New("no route to host")
	_, err := registerAgain(t.Context(), nil, func(context.Context) (bool, error) { return false, failure })
	if !errors.Is(err, failure) {
		t.Errorf("%v, want %v", err, failure)
	}
	if _, err := registerAgain(t.Context(), nil, func(context.Context) (bool, error) { return true, nil }); err != nil {
		t.Error(err)
	}
}

func TestNextRepair(t *testing.T) {
	now := time.Unix(1795290000, 0)
	since := now.Add(-time.Minute)
	deleted, drift := activeChange(report.NodeDeleted, since), activeChange(report.ConfigurationDrift, since)
	address, name := activeChange(report.NodeAddressChanged, since), activeChange(report.HostNameChanged, since)
	at := func(before time.Duration, change Change) joinstate.Repair {
		return joinstate.Repair{Reason: change.Reason, Since: change.Since, At: now.Add(-before)}
	}
	restarted := func(before time.Duration, change Change) joinstate.Repair {
		return joinstate.Repair{Reason: change.Reason, At: now.Add(-before)}
	}
	earlier := activeChange(report.NodeDeleted, now.Add(-50*time.Minute))
	for test, c := range map[string]struct {
		active  []Change
		history []joinstate.Repair
		want    report.Reason
	}{
		"nothing": {nil, nil, ""},
		"a finding without a repair": {[]Change{
			activeChange(report.DiskPressure, since),
			activeChange(report.NodeAddressMissing, since),
		}, nil, ""},
		"new CA, deleted Node": {
			[]Change{deleted, activeChange(report.ClusterCANotTrusted, since)},
			nil,
			report.ClusterCANotTrusted,
		},
		"new pull secret, deleted Node": {
			[]Change{deleted, activeChange(report.PullSecretOutdated, since)},
			nil,
			report.PullSecretOutdated,
		},
		"CA of the registry, new pull secret": {
			[]Change{activeChange(report.PullSecretOutdated, since), activeChange(report.TrustBundleOutdated, since)},
			nil,
			report.TrustBundleOutdated,
		},
		"invalid pull secret":               {[]Change{activeChange(report.PullSecretInvalid, since)}, nil, ""},
		"deleted Node":                      {[]Change{deleted}, nil, report.NodeDeleted},
		"address":                           {[]Change{address}, nil, report.NodeAddressChanged},
		"configuration before registration": {[]Change{deleted, address, drift}, nil, report.ConfigurationDrift},
		"addresses before registration":     {[]Change{deleted, address}, nil, report.NodeAddressChanged},
		"kubelet would not start":           {[]Change{deleted, name}, nil, ""},
		"image rolled back":                 {[]Change{drift, activeChange(report.HostRolledBack, since)}, nil, ""},
		"repaired just now":                 {[]Change{deleted}, []joinstate.Repair{at(4*time.Minute, deleted)}, ""},
		"repaired in vain": {
			[]Change{deleted},
			[]joinstate.Repair{at(5*time.Minute, deleted)},
			report.NodeDeleted,
		},
		"repaired in vain twice": {[]Change{deleted}, []joinstate.Repair{
			at(20*time.Minute, deleted),
			at(9*time.Minute, deleted),
		}, ""},
		"another finding meanwhile": {
			[]Change{deleted, drift},
			[]joinstate.Repair{at(time.Minute, drift)},
			report.NodeDeleted,
		},
		"a new occurrence": {
			[]Change{deleted},
			[]joinstate.Repair{at(2*time.Minute, earlier)},
			report.NodeDeleted,
		},
		"repeated occurrences": {[]Change{deleted}, []joinstate.Repair{
			at(50*time.Minute, earlier),
			at(20*time.Minute, earlier), at(10*time.Minute, earlier),
		}, ""},
		"repeated occurrences, an hour ago": {[]Change{deleted}, []joinstate.Repair{
			at(61*time.Minute, earlier),
			at(20*time.Minute, earlier), at(10*time.Minute, earlier),
		}, report.NodeDeleted},
		"repeated occurrences of another": {[]Change{drift}, []joinstate.Repair{
			at(50*time.Minute, earlier),
			at(20*time.Minute, earlier), at(10*time.Minute, earlier),
		}, report.ConfigurationDrift},
		"repaired before a restart": {[]Change{deleted}, []joinstate.Repair{restarted(4*time.Minute, deleted)}, ""},
		"backoff of before a restart": {[]Change{deleted}, []joinstate.Repair{
			restarted(100*time.Minute, deleted),
			restarted(90*time.Minute, deleted), restarted(80*time.Minute, deleted), restarted(70*time.Minute, deleted),
			restarted(65*time.Minute, deleted),
		}, ""},
		"limit of before a restart": {[]Change{deleted}, []joinstate.Repair{
			restarted(59*time.Minute, deleted),
			restarted(50*time.Minute, deleted), restarted(40*time.Minute, deleted),
		}, ""},
		"long before a restart": {
			[]Change{deleted},
			[]joinstate.Repair{restarted(6*time.Hour, deleted)},
			report.NodeDeleted,
		},
		"recorded with a wrong clock": {[]Change{deleted}, []joinstate.Repair{
			restarted(-time.Hour, deleted),
			restarted(-time.Hour, deleted), restarted(-time.Hour, deleted),
		}, report.NodeDeleted},
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
	var history []joinstate.Repair
	var got []string
	for minute := range 48 * 60 {
		now := began.Add(time.Duration(minute) * time.Minute)
		if _, due := nextRepair([]Change{change}, history, now); due {
			history = append(history, joinstate.Repair{Reason: change.Reason, Since: change.Since, At: now})
			got = append(got, fmt.Sprint(minute))
		}
	}
	want := []string{"0", "5", "15", "60", "100", "180", "340", "660", "1020", "1380", "1740", "2100", "2460", "2820"}
	if !slices.Equal(got, want) {
		t.Errorf("repairs after minutes %v, want %v", got, want)
	}
}

// While another run of the agent changes the host, the service repairs nothing.
func TestNoRepairWhileAnotherRunChangesTheHost(t *testing.T) {
	dir := t.TempDir()
	host, err := nodecheck.GatherHost(t.Context(), nil, dir, "")
	flowtest.NoError(t, err)
	m := &nodeMonitor{
		Options: Options{Options: request.Options{StateDir: dir}},
		state:   joinstate.State{NodeName: host.CurrentName},
	}
	m.Config.Repair = true
	flowtest.NoError(t, joinstate.Write(dir, joinstate.State{
		Started: time.Unix(1, 0), Finished: time.Unix(2, 0),
		NodeName: host.CurrentName,
	}))
	running, err := ledger.Open(dir, ledger.Drivers{})
	flowtest.NoError(t, err)
	if m.mayChangeHost(t.Context()) {
		t.Fatal("the service repairs the host during another run")
	}
	if m.repairActive(t.Context(), []Change{activeChange(report.ConfigurationDrift, time.Now())}) {
		t.Error("the service repaired drift during another run")
	}
	flowtest.NoError(t, running.Close())
	if !m.mayChangeHost(t.Context()) {
		t.Error("the service does not repair the host after the other run")
	}
}

// Without repair: true, the service changes nothing.
func TestNoRepairUnlessRequested(t *testing.T) {
	m := &nodeMonitor{} // a repair would need the host
	if m.repairActive(t.Context(), []Change{activeChange(report.NodeDeleted, time.Now())}) {
		t.Error("a finding was repaired")
	}
}
