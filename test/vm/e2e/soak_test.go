// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/nodeimage"
	"github.com/hcp-node-agent/hcp-node-agent/test/seeds"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// lawfulState is a state in which an interrupted command may leave the host.
type lawfulState string

const (
	asBefore   lawfulState = "as before the join"
	payloadA   lawfulState = "Ready with payload A"
	payloadB   lawfulState = "Ready with payload B" // the next release, and with addedFile
	unfinished lawfulState = "unfinished until the command is repeated"
)

// operation is a command that takes the host from one lawful state to another.
type operation struct {
	name, command, resume string // resume: the command if the operation is in progress
	from, to              lawfulState
}

// operations returns the life of a node.
func operations() []operation {
	return []operation{
		{"join", joinCommand, joinCommand, asBefore, payloadA},
		{"upgrade", upgradeCommand, "upgrade", payloadA, payloadB},
		{"rollback", "upgrade --rollback", "upgrade", payloadB, payloadA},
		{"leave", "leave --no-drain", "leave --no-drain", payloadA, asBefore},
	}
}

// fault is a way to interrupt a command.
type fault string

const (
	powerCut fault = "power cut"
	sigkill  fault = "SIGKILL"
)

// campaign interrupts the operations at random times.
type campaign struct {
	payloads  map[lawfulState]testenv.Payload
	host      []string // before the join
	durations map[string]time.Duration
}

// preparedSnapshot is the machine's snapshot before each life.
const preparedSnapshot = "prepared"

// TestRandomInterruptions takes a node through join, upgrade, rollback and leave, RUNS times (default 5).
// Each command is interrupted once, at a random time, by a power cut or by SIGKILL. After a power cut, and
// while the service runs, no command is run until the host has reached a lawful state. The command is
// then repeated and must succeed. Each run prints its seed; SEED=… RUNS=1 repeats it.
func TestRandomInterruptions(t *testing.T) {
	c := newCampaign(t)
	if !t.Run("uninterrupted", c.measure) {
		return
	}
	seeds.Run(t, 5, func(t *testing.T, dice *rand.Rand) {
		ctx := c.newLife(t)
		for _, op := range operations() {
			how := []fault{powerCut, sigkill}[dice.IntN(2)]
			// Slightly longer than the operation takes, to include its last writes.
			moment := time.Duration(dice.Float64() * 1.1 * float64(c.durations[op.name]))
			c.interrupt(ctx, t, op, how, moment)
		}
	})
}

// newCampaign prepares a machine that gets the node's software from the OS image, and two payloads.
func newCampaign(t *testing.T) *campaign {
	t.Helper()
	ctx := newContext(t)
	source := nodeimage.MoveFiles(ctx, t, environment.Machine)
	mustOutput(ctx, t, "sync")
	must(t, environment.Machine.Snapshot(ctx, preparedSnapshot))
	a, b := servedPayload(t), servedPayload(t)
	must(t, a.SetOSImage(nodeimage.Push(t, environment.ControlPlane, source, nodeimage.FirstRelease)))
	must(t, b.SetOSImage(nodeimage.Push(t, environment.ControlPlane, source, nodeimage.NextRelease)))
	b.SetFile(addedFile, "added = yes\n")
	return &campaign{
		payloads:  map[lawfulState]testenv.Payload{payloadA: a, payloadB: b},
		host:      hostState(ctx, t),
		durations: map[string]time.Duration{},
	}
}

// newLife prepares a machine that has never joined, and a cluster without nodes.
func (c *campaign) newLife(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
	t.Cleanup(cancel)
	if !environment.Machine.Running() { // an earlier run has cut its power and failed
		must(t, environment.Machine.Boot(ctx))
	}
	must(t, environment.Reset(ctx))
	must(t, environment.Machine.Restore(ctx, preparedSnapshot))
	t.Cleanup(func() { saveJournalOnFailure(t) })
	return ctx
}

// measure runs each operation without an interruption.
func (c *campaign) measure(t *testing.T) {
	ctx := c.newLife(t)
	for _, op := range operations() {
		c.serve(ctx, t, op)
		began := time.Now()
		runAgent(ctx, t, report.Success, op.command)
		c.durations[op.name] = time.Since(began)
		c.checkState(ctx, t, op, op.to)
	}
}

// serve makes the payload of an operation available, and copies user data for it to the disk.
func (c *campaign) serve(ctx context.Context, t *testing.T, op operation) {
	t.Helper()
	if payload := c.payloads[op.to]; payload != nil {
		serve(ctx, t, payload)
		mustOutput(ctx, t, "sync")
	}
}

// interrupt starts an operation, interrupts it after moment, and completes it.
func (c *campaign) interrupt(ctx context.Context, t *testing.T, op operation, how fault, moment time.Duration) {
	t.Helper()
	t.Logf("%s: %s after %s of %s", op.name, how, moment.Round(100*time.Millisecond),
		c.durations[op.name].Round(time.Second))
	c.serve(ctx, t, op)
	var output bytes.Buffer
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// the connection may be lost
		_, _ = environment.Machine.RunStream(ctx, "exec hcp-node-agent "+op.command, nil, &output, &output)
	}()
	time.Sleep(moment)
	if how == powerCut {
		must(t, environment.Machine.Kill(ctx))
	} else {
		mustOutput(ctx, t, "pkill -KILL -f '^hcp-node-agent "+strings.Fields(op.command)[0]+"' || true")
	}
	<-ended
	t.Logf("output of %s until then:\n%s", op.name, output.String())
	if how == powerCut {
		must(t, environment.Machine.Boot(ctx))
		must(t, environment.Machine.WaitSSH(ctx))
	}
	state := c.awaitLawfulState(ctx, t, op, how)
	t.Logf("%s: after the %s the host is %s", op.name, how, state)
	if state == op.to {
		return
	}
	command := op.command
	if state == unfinished {
		command = op.resume
	}
	runAgent(ctx, t, report.Success, command)
	c.checkState(ctx, t, op, op.to)
}

// awaitLawfulState waits until the host is in a lawful state of the operation, and checks it. Meanwhile it
// approves certificate requests as an administrator does. A join that was killed, and a leave, continue
// only when the command is repeated.
func (c *campaign) awaitLawfulState(ctx context.Context, t *testing.T, op operation, how fault) lawfulState {
	t.Helper()
	var state lawfulState
	waittest.Until(t, fmt.Sprintf("%s: waiting for a lawful phase after the %s", op.name, how), func() (any, bool) {
		decideCSRs(ctx, t, certificatesv1.CertificateApproved)
		phase := currentPhase(ctx, t)
		switch {
		case phase == joinstate.PhaseNone && (op.from == asBefore || op.to == asBefore):
			state = asBefore
		case phase == joinstate.PhaseLeaving && op.to == asBefore, phase == joinstate.PhaseJoining && how == sigkill:
			state = unfinished
		case phase == joinstate.PhaseJoined:
			state = payloadA
			if mustOutput(ctx, t, "ls "+addedFile+" 2>/dev/null || true") != "" {
				state = payloadB
			}
		}
		return phase, state != ""
	})
	if state != unfinished {
		c.checkState(ctx, t, op, state)
	}
	return state
}

func currentPhase(ctx context.Context, t *testing.T) joinstate.Phase {
	t.Helper()
	var status struct{ Phase joinstate.Phase }
	must(t, json.Unmarshal([]byte(mustOutput(ctx, t, "hcp-node-agent status --output json || true")), &status))
	return status.Phase
}

// checkState fails the test unless the host is completely in a lawful state of the operation.
func (c *campaign) checkState(ctx context.Context, t *testing.T, op operation, state lawfulState) {
	t.Helper()
	if state != op.from && state != op.to {
		t.Fatalf("%s: the host is %s", op.name, state)
	}
	if state == asBefore {
		checkHostState(ctx, t, c.host)
		return
	}
	awaitReadyNode(ctx, t)
	versions, added := nodeimage.FirstRelease, ""
	if state == payloadB {
		versions, added = nodeimage.NextRelease, addedFile
	}
	checkNode(ctx, t, ipUnit, "setup-apiserver-ip.sh", versions)
	if found := mustOutput(ctx, t, "ls "+addedFile+" 2>/dev/null || true"); found != added {
		t.Errorf("%s: the host is %s and has the files %q, want %q", op.name, state, found, added)
	}
	_, err := environment.RunPod(ctx, "after-"+op.name)
	must(t, err)
	must(t, environment.DeletePods(ctx))
}
