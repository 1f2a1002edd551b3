// SPDX-License-Identifier: Apache-2.0

//go:build vm

package network

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/lab"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/uplink"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// host is the machine with one kind of uplink, and its initial state.
type host struct {
	uplink.Kind
	// state and whole are the initial network state.
	state, fullState []string
}

// newHost configures the machine with a kind of uplink; the agent has never run on it. The context
// ends before the deadline of the test.
func newHost(t *testing.T, kind uplink.Kind) (context.Context, host) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Timeout)
	t.Cleanup(cancel)
	must(t, testLab.Arrange(ctx, kind.Lab))
	if !machine.Running() { // an earlier test has cut its power and failed
		must(t, machine.Boot(ctx))
	}
	must(t, machine.Restore(ctx, installedSnapshot))
	must(t, kind.Configure(ctx, machine))
	t.Cleanup(func() { saveJournalOnFailure(t) })
	h := host{Kind: kind}
	var err error
	h.state, err = kind.State(ctx, machine)
	must(t, err)
	h.fullState, err = kind.FullState(ctx, machine)
	must(t, err)
	return ctx, h
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// saveJournalOnFailure saves the machine's journal if the test failed.
func saveJournalOnFailure(t *testing.T) {
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Timeout)
	defer cancel()
	journal, err := machine.Output(ctx,
		"journalctl --no-pager -o short-monotonic; nmcli connection; ip address; ip route; ip -6 route; ovs-vsctl show")
	if journal == "" {
		t.Logf("the journal of the machine cannot be read: %v; its console is %s", err, machine.Console())
		return
	}
	name := filepath.Join(logs, strings.ReplaceAll(t.Name(), "/", "_")+".journal")
	if err := os.WriteFile(name, []byte(journal), 0o600); err != nil {
		t.Log(err)
	}
	t.Logf("journal of the machine: %s", name)
}

// runAgent runs the agent, which must succeed.
func runAgent(ctx context.Context, t *testing.T, args string) {
	t.Helper()
	result, err := machine.Run(ctx, "hcp-node-agent "+args)
	must(t, err)
	t.Logf("hcp-node-agent %s\n%s%s", args, result.Stdout, result.Stderr)
	if result.ExitCode != int(report.Success) {
		t.Fatalf("exit code %d", result.ExitCode)
	}
}

// checkState checks that the network is unchanged, apart from the device that has the addresses.
func (h host) checkState(ctx context.Context, t *testing.T, when string) bool {
	t.Helper()
	now, err := h.State(ctx, machine)
	must(t, err)
	want := slices.Clone(h.state)
	if h.CompetingRoute {
		for i, line := range want {
			if rest, ok := strings.CutPrefix(line, "leaves by eth0 "); ok {
				want[i] = "leaves by UPLINK " + rest
			}
		}
	}
	diff := cmp.Diff(want, now)
	if diff != "" {
		t.Errorf("%s the network has changed (-before +now):\n%s", when, diff)
	}
	return diff == ""
}

// checkFullState checks that a migration has left no trace.
func (h host) checkFullState(ctx context.Context, t *testing.T, when string) bool {
	t.Helper()
	now, err := h.FullState(ctx, machine)
	must(t, err)
	diff := cmp.Diff(h.fullState, now)
	if diff != "" {
		t.Errorf("%s the host is not restored (-before +now):\n%s", when, diff)
	}
	return diff == ""
}

// probeDuring returns the worst interruption of the host's addresses that the peer measures while do
// runs.
func (h host) probeDuring(ctx context.Context, t *testing.T, do func()) lab.Interruptions {
	t.Helper()
	return h.probeWith(ctx, t, func([]*lab.Probe) { do() })
}

// probeWith is probeDuring that passes the probes, of which each has sent some requests, to do.
func (h host) probeWith(ctx context.Context, t *testing.T, do func([]*lab.Probe)) lab.Interruptions {
	t.Helper()
	addresses, err := h.Addresses(ctx, machine)
	must(t, err)
	if len(addresses) == 0 {
		t.Fatal("the uplink has no address")
	}
	var probes []*lab.Probe
	for _, address := range addresses {
		probe, err := testLab.Probe(address)
		must(t, err)
		probes = append(probes, probe)
	}
	awaitRequests(probes, 30) // a reference period before the change
	do(probes)
	var worst lab.Interruptions
	for i, probe := range probes {
		gaps := probe.Stop()
		t.Logf("%s from outside: %v", addresses[i], gaps)
		if gaps.Answered() == 0 {
			t.Errorf("%s never responded", addresses[i])
		}
		if gaps.Unanswered || gaps.Longest >= worst.Longest {
			worst = gaps
		}
	}
	return worst
}

// awaitRequests blocks until each probe has sent count more requests.
func awaitRequests(probes []*lab.Probe, count int) {
	for _, probe := range probes {
		probe.AwaitRequests(count)
	}
}
