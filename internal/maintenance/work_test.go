// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

func TestWork(t *testing.T) {
	updates := []dnf.Package{
		{Name: "bash", Version: "5.1.8", Release: "9.el9", Arch: "x86_64"},
		{Name: "glibc", Version: "2.34", Release: "168.el9", Arch: "x86_64"},
	}
	pending := []report.Finding{{Message: "an update of the kernel is installed"}}
	for name, test := range map[string]struct {
		work    work
		summary string // "" if there is nothing to do
		notes   []string
	}{
		"nothing": {work{}, "", nil},
		"one package": {
			work{updates: updates[:1]},
			"1 package to install",
			[]string{"1 package to install: bash-5.1.8-9.el9.x86_64"},
		},
		"packages": {
			work{updates: updates},
			"2 packages to install",
			[]string{"2 packages to install: bash-5.1.8-9.el9.x86_64, glibc-2.34-168.el9.x86_64"},
		},
		"pending":   {work{pending: pending}, "a reboot is pending", []string{"an update of the kernel is installed"}},
		"requested": {work{reboot: true}, "a reboot is requested", nil},
		"all of them": {
			work{updates[:1], pending, true},
			"1 package to install; a reboot is pending",
			[]string{"1 package to install: bash-5.1.8-9.el9.x86_64", "an update of the kernel is installed"},
		},
		"update, reboot": {
			work{updates: updates, reboot: true},
			"2 packages to install; a reboot is requested",
			[]string{"2 packages to install: bash-5.1.8-9.el9.x86_64, glibc-2.34-168.el9.x86_64"},
		},
	} {
		if got := test.work.summary(); got != test.summary || test.work.isNothing() != (test.summary == "") {
			t.Errorf("%s: summary %q, nothing %t", name, got, test.work.isNothing())
		}
		if diff := cmp.Diff(test.notes, test.work.notes()); diff != "" {
			t.Errorf("%s: notes (-want +got):\n%s", name, diff)
		}
	}
}

// A host is rebooted once, and only if something requires it.
func TestDecideReboot(t *testing.T) {
	pending := []report.Finding{{Subject: "the kernel"}, {Subject: "systemd"}}
	requested := joinstate.Maintenance{Reboot: true}
	requestedFrom := joinstate.Maintenance{Reboot: true, RebootedFrom: "a"}
	for name, test := range map[string]struct {
		record  joinstate.Maintenance
		pending []report.Finding
		boot    string
		want    rebootAction
		reason  string
	}{
		"nothing": {boot: "a", want: noReboot},
		"pending": {
			joinstate.Maintenance{},
			pending, "a", rebootNow,
			"to run the installed update of the kernel, systemd",
		},
		"requested":             {requested, nil, "a", rebootNow, "as requested"},
		"killed before it":      {requestedFrom, nil, "a", rebootNow, "as requested"},
		"done":                  {requestedFrom, nil, "b", isRebooted, ""},
		"done, but not running": {joinstate.Maintenance{RebootedFrom: "a"}, pending, "b", isRebooted, ""},
		"power cut after dnf":   {boot: "b", want: noReboot},
	} {
		action, reason := decideReboot(test.record, test.pending, test.boot)
		if action != test.want || reason != test.reason {
			t.Errorf("%s: %s (%s), want %s (%s)", name, action, reason, test.want, test.reason)
		}
	}
}

func TestHasChangedHost(t *testing.T) {
	for name, test := range map[string]struct {
		record joinstate.Maintenance
		last   string
		want   bool
	}{
		"drained":           {joinstate.Maintenance{Update: true, Drained: true, Transaction: "7"}, "7", false},
		"interrupted dnf":   {joinstate.Maintenance{Update: true, Drained: true, Transaction: "7"}, "8", true},
		"first transaction": {joinstate.Maintenance{Update: true, Drained: true}, "1", true},
		"updated": {
			joinstate.Maintenance{Update: true, Drained: true, Updated: true, Transaction: "7"},
			"8",
			true,
		},
		"up to date meanwhile": {
			joinstate.Maintenance{Update: true, Drained: true, Updated: true, Transaction: "7"},
			"7",
			true,
		},
		"rebooted without dnf": {joinstate.Maintenance{Drained: true, RebootedFrom: "a"}, "", true},
		"drained without dnf":  {joinstate.Maintenance{Drained: true}, "", false},
	} {
		if got := hasChangedHost(test.record, test.last); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A maintenance starts only on a joined node that no other command is changing. The remedy resumes that
// command.
func TestCheckStart(t *testing.T) {
	joined := joinstate.State{Started: time.Unix(1, 0), Finished: time.Unix(2, 0)}
	change := func(edit func(*joinstate.State)) joinstate.State {
		state := joined
		edit(&state)
		return state
	}
	for name, test := range map[string]struct {
		state   joinstate.State
		record  bool // a maintenance is unfinished
		locked  bool
		service bool
		remedy  report.Remedy // "" if it starts
	}{
		"joined":  {state: joined},
		"no join": {remedy: "hcp-node-agent join --user-data USER_DATA"},
		"unfinished join": {
			state:  change(func(s *joinstate.State) { s.Finished = time.Time{} }),
			remedy: "hcp-node-agent join #",
		},
		"unfinished leave": {
			state:  change(func(s *joinstate.State) { s.Leaving = time.Unix(3, 0) }),
			remedy: "hcp-node-agent leave #",
		},
		"unfinished upgrade": {
			state:  change(func(s *joinstate.State) { s.Upgrade = &joinstate.Upgrade{} }),
			remedy: "hcp-node-agent upgrade #",
		},
		"another process":   {state: joined, locked: true, remedy: "hcp-node-agent status #"},
		"the service waits": {state: joined, locked: true, record: true, service: true},
		"taken over":        {state: joined, locked: true, record: true},
		"resumed":           {state: joined, record: true},
		"resumed, but then a leave": {
			state: change(func(s *joinstate.State) { s.Leaving = time.Unix(3, 0) }), record: true,
			remedy: "hcp-node-agent leave #",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if test.state.Exists() {
				flowtest.NoError(t, joinstate.Write(dir, test.state))
			}
			if test.record {
				flowtest.NoError(t, joinstate.WriteMaintenance(dir, joinstate.Maintenance{Started: time.Unix(3, 0)}))
			}
			if test.locked {
				other, err := ledger.Open(dir, ledger.Drivers{})
				flowtest.NoError(t, err)
				defer other.Close()
			}
			err := checkStart(Options{Options: request.Options{StateDir: dir, Service: test.service}})
			switch {
			case test.remedy == "":
				flowtest.NoError(t, err)
			case report.CodeOf(err) != report.Refused || !strings.HasPrefix(string(report.RemedyOf(err)), string(test.remedy)):
				t.Errorf("%v (code %d, remedy %q)", err, report.CodeOf(err), report.RemedyOf(err))
			}
		})
	}
}

// The staged deployment may be lost, or its boot entry not be written: the update must not count as made.
func TestMissedBoot(t *testing.T) {
	booted, next := deployment.Deployment{Checksum: "aaaa"}, &deployment.Deployment{Checksum: "aaaa", Serial: 1}
	staged := pendingDeployment(&deployment.Status{Booted: booted, Staged: next})
	for name, test := range map[string]struct {
		record  joinstate.Maintenance
		booted  deployment.Deployment
		isReady bool
	}{
		"started":        {joinstate.Maintenance{Deployment: staged}, *next, true},
		"not started":    {joinstate.Maintenance{Deployment: staged}, booted, false},
		"nothing staged": {joinstate.Maintenance{}, booted, true},
	} {
		got := describeMissedBoot(test.record, deployment.Status{Booted: test.booted})
		if (got == "") != test.isReady {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := pendingDeployment(&deployment.Status{Booted: booted}); got != "" {
		t.Errorf("pending without a staged deployment: %q", got)
	}
}
