// SPDX-License-Identifier: Apache-2.0

//go:build vm

package network

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/lab"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/uplink"
)

const (
	// networkTimeout is the flag for the timeout of a migration in an emulated machine.
	networkTimeout = " --network-timeout " + testenv.NetworkTimeout + " "
	// shortTimeout is networkTimeout for tests in which it passes. A migration takes about 20 s on a quiet host.
	shortTimeout = " --network-timeout 3m "
	// migrationCommand is the migration.
	migrationCommand = "join --only network" + networkTimeout
)

// isThorough reports whether THOROUGH requests every fault at every step of the migration, with the
// full timeouts of the safeguards. Otherwise each fault is tested once.
func isThorough() bool { return os.Getenv("THOROUGH") != "" }

// faultKinds returns the kinds that faults are tested with, unless KINDS selects others.
func faultKinds(t *testing.T) []uplink.Kind {
	t.Helper()
	if os.Getenv("KINDS") != "" && os.Getenv("KINDS") != "usual" {
		return kinds
	}
	names := "dhcp4"
	if isThorough() {
		names = "dhcp4,bond-backup"
	}
	found, err := uplink.Find(names)
	must(t, err)
	return found
}

// criticalStep is the step at which only the timer can recover the host if the agent is killed.
// Received packets arrive on br-ex, and sent packets leave by the NIC.
const criticalStep = "the new profile of"

// migrationSteps runs a migration with mortal and returns the text that announces each step.
func migrationSteps(ctx context.Context, t *testing.T, h host) []string {
	t.Helper()
	output, err := machine.Output(ctx, "mortal"+networkTimeout+h.Flags)
	must(t, err)
	var found []string
	for line := range strings.Lines(output) {
		if kind, message, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && kind == string(report.Waiting) {
			found = append(found, message)
		}
	}
	if len(found) < 8 {
		t.Fatalf("the migration does not report its steps:\n%s", output)
	}
	return found
}

// runDuring runs the migration and calls do when text is reported, before the announced step begins.
// It returns the exit code of the migration.
func runDuring(ctx context.Context, t *testing.T, h host, text string, do func()) report.Code {
	t.Helper()
	const halt = "rm -f /run/go-on; until [ -e /run/go-on ]; do sleep 0.05; done"
	watch := vm.NewWatcher(text)
	type end struct {
		code int
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		code, err := machine.RunStream(ctx, "mortal --at '"+text+"' --run '"+halt+"' "+shortTimeout+h.Flags, nil, watch,
			watch)
		ended <- end{code, err}
	}()
	select {
	case <-watch.Seen:
		do()
		_, err := machine.Output(ctx, "touch /run/go-on")
		must(t, err)
	case e := <-ended:
		t.Fatalf("the migration ended before it reported %q (%v):\n%s", text, e.err, watch.String())
	}
	e := <-ended
	must(t, e.err)
	t.Logf("exit code %d:\n%s", e.code, watch.String())
	if strings.Contains(watch.String(), "\nrun\t") {
		t.Error("the migration did not wait")
	}
	return report.Code(e.code)
}

// awaitRollback waits until the safeguards have rolled back, and checks the network.
func (h host) awaitRollback(ctx context.Context, t *testing.T) {
	t.Helper()
	// The timer is removed after the rollback.
	must(t, machine.Await(ctx, "! systemctl list-timers --no-legend --no-pager | grep hcp-node-agent"))
	h.checkReachable(ctx, t)
	h.checkFullState(ctx, t, "after the rollback timeout")
}

// checkReachable checks that the host is reachable from outside.
func (h host) checkReachable(ctx context.Context, t *testing.T) {
	t.Helper()
	gaps := h.probeWith(ctx, t, func(probes []*lab.Probe) { awaitRequests(probes, 100) })
	if gaps.Unanswered {
		t.Errorf("the host cannot be reached: %v", gaps)
	}
}
