// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/uplink"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

//go:embed prepare.sh
var prepareScript string

//go:embed floor.sh
var floorScript string

// bench has the machine and what was measured.
type bench struct {
	env      *testenv.Environment
	joins    []time.Duration
	floors   []time.Duration
	memory   []float64 // largest resident set of a join, MiB
	order    []string  // the steps of a join
	steps    map[string][]time.Duration
	commands []*command
	prepared []byte // what a join wrote; an archive
}

// command is a command that is measured on the joined node.
type command struct {
	line string
	took []time.Duration
}

const (
	// installedSnapshot is the machine with the agent, before a join.
	installedSnapshot = "installed"
	nic               = "eth0"
	// recordMemory records the largest resident set of the next join until it ends.
	recordMemory = "systemd-run --quiet --collect sh -c 'until pid=$(pgrep -x hcp-node-agent); do sleep 0.5; done; " +
		"while grep VmHWM /proc/$pid/status >/run/memory.new; do mv /run/memory.new /run/memory; sleep 2; done'"
	readMemory = "awk '{print $2}' /run/memory" // kB
	secondJoin = "rm -f /root/second.json; " + testenv.JoinCommand + " --trace /root/second.json"
)

func (b *bench) install(ctx context.Context) error {
	if err := b.env.Install(ctx); err != nil {
		return err
	}
	for path, content := range map[string]string{
		"/root/prepare.sh": prepareScript, "/root/floor.sh": floorScript, "/root/classic.sh": uplink.ClassicScript,
	} {
		if err := b.env.Machine.Put(ctx, path, strings.NewReader(content), 0o755); err != nil {
			return err
		}
	}
	return b.env.Machine.Snapshot(ctx, installedSnapshot)
}

// restart restores the machine and the cluster.
func (b *bench) restart(ctx context.Context) error {
	if err := b.env.Reset(ctx); err != nil {
		return err
	}
	return b.env.Machine.Restore(ctx, installedSnapshot)
}

// measureJoin joins with the agent.
func (b *bench) measureJoin(ctx context.Context) error {
	if err := b.restart(ctx); err != nil {
		return err
	}
	if err := b.env.CopyInputs(ctx); err != nil {
		return err
	}
	if _, err := b.env.Machine.Output(ctx, "systemctl list-units --type=service --state=active --plain --no-legend | "+
		"awk '{print $1}' | sort >/root/units.before; sleep 1; touch /root/before; sleep 1; "+recordMemory); err != nil {
		return err
	}
	began := time.Now()
	out, err := b.env.Machine.Output(ctx, testenv.JoinCommand+" -o json --trace /root/first.json")
	if err != nil {
		return err
	}
	b.joins = append(b.joins, time.Since(began))
	memory, err := b.env.Machine.Output(ctx, readMemory)
	if err != nil {
		return err
	}
	kib, err := strconv.ParseFloat(memory, 64)
	if err != nil {
		return fmt.Errorf("reading the memory of a join: %w", err)
	}
	b.memory = append(b.memory, kib/1024)
	steps, err := testenv.ParseSteps(out)
	if err != nil {
		return err
	}
	for _, step := range steps {
		if !slices.Contains(b.order, step.Name) {
			b.order = append(b.order, step.Name)
		}
		b.steps[step.Name] = append(b.steps[step.Name], time.Duration(step.Seconds*float64(time.Second)))
	}
	return nil
}

// measureNode saves what the join wrote, and measures commands on the node.
func (b *bench) measureNode(ctx context.Context, rounds int, traces string) error {
	const prepare = "/root/prepare.sh && tar -C /root -cf /root/prepared.tar floor.tar floor.units"
	if _, err := b.env.Machine.Output(ctx, prepare); err != nil {
		return err
	}
	var err error
	if b.prepared, err = b.env.Machine.Get(ctx, "/root/prepared.tar"); err != nil {
		return err
	}
	if _, err := b.env.Machine.Output(ctx, testenv.AwaitIdle); err != nil {
		return err
	}
	for _, line := range []string{
		"hcp-node-agent --version", secondJoin, "hcp-node-agent status", "hcp-node-agent doctor", "hcp-node-agent preflight",
		"hcp-node-agent plan",
	} {
		c := &command{line: line}
		b.commands = append(b.commands, c)
		for range rounds {
			began := time.Now()
			if _, err := b.env.Machine.Run(ctx, line); err != nil {
				return err
			}
			c.took = append(c.took, time.Since(began))
			fmt.Fprintf(os.Stderr, "%s: %.1f s\n", line, time.Since(began).Seconds())
		}
	}
	return b.saveTraces(ctx, traces)
}

// saveTraces saves the traces of the joins in a directory, if it is given.
func (b *bench) saveTraces(ctx context.Context, dir string) error {
	if dir == "" {
		return nil
	}
	for _, name := range []string{"first.json", "second.json"} {
		content, err := b.env.Machine.Get(ctx, "/root/"+name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return fmt.Errorf("saving a trace: %w", err)
		}
	}
	return nil
}

// measureFloor brings the machine to the state of a node by the script. The cluster has the certificate's request, and
// no Node.
func (b *bench) measureFloor(ctx context.Context) error {
	if err := b.restart(ctx); err != nil {
		return err
	}
	if err := b.env.Machine.Put(ctx, "/root/prepared.tar", bytes.NewReader(b.prepared), 0o600); err != nil {
		return err
	}
	if _, err := b.env.Machine.Output(ctx, "tar -C /root -xf /root/prepared.tar"); err != nil {
		return err
	}
	began := time.Now()
	if _, err := b.env.Machine.Output(ctx, "/root/floor.sh "+nic); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, waittest.Timeout, true,
		func(ctx context.Context) (bool, error) {
			node, err := b.env.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
			return err == nil && isSchedulable(node), nil
		})
	if err != nil {
		return fmt.Errorf("waiting for the Node: %w", err)
	}
	b.floors = append(b.floors, time.Since(began))
	return nil
}

// isSchedulable reports whether a Node is Ready and has no taint.
func isSchedulable(node *corev1.Node) bool {
	return len(node.Spec.Taints) == 0 && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
