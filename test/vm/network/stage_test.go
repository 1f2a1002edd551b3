//go:build vm

package network

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/lab"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/uplink"
)

// host is the machine with one kind of uplink, and its initial state.
type host struct {
	uplink.Kind
	// state and whole are the initial network state.
	state, whole []string
}

// fresh configures the machine with a kind of uplink; the agent has never run on it. The context
// ends before the deadline of the test.
func fresh(t *testing.T, kind uplink.Kind) (context.Context, host) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	must(t, around.Arrange(ctx, kind.Lab))
	if !machine.Running() { // an earlier test has cut its power and failed
		must(t, machine.Boot(ctx))
	}
	must(t, machine.Restore(ctx, installed))
	must(t, kind.Set(ctx, machine))
	t.Cleanup(func() { evidence(t) })
	h := host{Kind: kind}
	var err error
	h.state, err = kind.State(ctx, machine)
	must(t, err)
	h.whole, err = kind.Whole(ctx, machine)
	must(t, err)
	return ctx, h
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// evidence saves the machine's journal if the test failed.
func evidence(t *testing.T) {
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	journal, err := machine.Output(ctx, "journalctl --no-pager -o short-monotonic; nmcli connection; ip address; ip route; ip -6 route; ovs-vsctl show")
	if journal == "" {
		t.Logf("the machine does not give its journal: %v; its console is %s", err, machine.Console())
		return
	}
	name := filepath.Join(logs, strings.ReplaceAll(t.Name(), "/", "_")+".journal")
	if err := os.WriteFile(name, []byte(journal), 0o600); err != nil {
		t.Log(err)
	}
	t.Logf("journal of the machine: %s", name)
}

// agent runs the agent, which must succeed.
func agent(ctx context.Context, t *testing.T, args string) {
	t.Helper()
	result, err := machine.Run(ctx, "hcp-node-agent "+args)
	must(t, err)
	t.Logf("hcp-node-agent %s\n%s%s", args, result.Stdout, result.Stderr)
	if result.ExitCode != int(report.Done) {
		t.Fatalf("exit code %d", result.ExitCode)
	}
}

// keeps checks that the network is unchanged, apart from the device that has the addresses.
func (h host) keeps(ctx context.Context, t *testing.T, when string) bool {
	t.Helper()
	now, err := h.State(ctx, machine)
	must(t, err)
	want := slices.Clone(h.state)
	if h.Overtakes {
		for i, line := range want {
			if rest, ok := strings.CutPrefix(line, "leaves by eth0 "); ok {
				want[i] = "leaves by UPLINK " + rest
			}
		}
	}
	diff := cmp.Diff(want, now)
	if diff != "" {
		t.Errorf("%s the network is not as it was (-before +now):\n%s", when, diff)
	}
	return diff == ""
}

// untouched checks that a migration has left no trace.
func (h host) untouched(ctx context.Context, t *testing.T, when string) bool {
	t.Helper()
	now, err := h.Whole(ctx, machine)
	must(t, err)
	diff := cmp.Diff(h.whole, now)
	if diff != "" {
		t.Errorf("%s the host is not as it was (-before +now):\n%s", when, diff)
	}
	return diff == ""
}

// watch returns the worst interruption of the host's addresses that the peer measures while do
// runs.
func (h host) watch(ctx context.Context, t *testing.T, do func()) lab.Gaps {
	t.Helper()
	addresses, err := h.Addresses(ctx, machine)
	must(t, err)
	if len(addresses) == 0 {
		t.Fatal("the uplink has no address")
	}
	var probes []*lab.Probe
	for _, address := range addresses {
		probe, err := around.Probe(address)
		must(t, err)
		probes = append(probes, probe)
	}
	time.Sleep(300 * time.Millisecond) // a reference period before the change
	do()
	var worst lab.Gaps
	for i, probe := range probes {
		gaps := probe.Stop()
		t.Logf("%s from outside: %v", addresses[i], gaps)
		if gaps.Answered() == 0 {
			t.Errorf("%s never answered", addresses[i])
		}
		if gaps.Silent || gaps.Longest >= worst.Longest {
			worst = gaps
		}
	}
	return worst
}
