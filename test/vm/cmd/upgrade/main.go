// SPDX-License-Identifier: Apache-2.0

// Command upgrade compares the time for which an upgrade makes a node unschedulable with its floor: a drain, the
// changed files, a restart of CRI-O and kubelet, and the end of the cordon, with nothing in between. It has no
// assertions.
//
// Usage: upgrade [-rounds N] [-save DIRECTORY], from inside the repository, as root
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/benchmarks"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

func main() {
	rounds := flag.Int("rounds", 3, "how often each is measured; the median is shown")
	save := benchmarks.SaveFlag()
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *rounds, *save)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "upgrade:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, save string) (err error) {
	repository, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the repository: %w", err)
	}
	env, err := testenv.Open(ctx, testenv.Options{
		Repository: repository, Dir: filepath.Join(repository, "build", "upgrade"), Log: os.Stderr, Snapshot: true,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	b := bench{env: env}
	if err := b.join(ctx); err != nil {
		return err
	}
	for i := range rounds {
		if err := errors.Join(b.measureUpgrade(ctx, i), b.measureFloor(ctx)); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "round %d of %d: upgrade %.1f s, unschedulable %.1f s, floor %.1f s\n",
			i+1, rounds, b.upgrades[i].Seconds(), b.cordons[i].Seconds(), b.floors[i].Seconds())
	}
	result := b.result()
	result.Guest = env.Machine.Execution()
	return result.Save(save)
}

// result returns the medians.
func (b *bench) result() benchmarks.Result {
	r := benchmarks.Result{Name: "upgrade", Method: fmt.Sprintf("An upgrade changes the configuration of CRI-O and "+
		"kubelet on a node with %d pods of a Deployment. The floor drains the node, writes the same files, restarts both "+
		"services and ends the cordon when the Node is Ready, with nothing in between. The figures are medians of %d runs.",
		replicas, len(b.floors))}
	cordon, floor := benchmarks.Median(b.cordons).Seconds(), benchmarks.Median(b.floors).Seconds()
	table := benchmarks.Table{Header: []string{"", "s"}}
	table.AddRow("hcp-node-agent upgrade", benchmarks.Median(b.upgrades).Seconds())
	table.AddRow("unschedulable in it", cordon)
	table.AddRow("floor", floor)
	chart := benchmarks.Chart{Title: "Steps of the last upgrade, s", Series: make([]benchmarks.Series, 1)}
	for _, step := range b.steps {
		chart.AddGroup(step.Name, step.Seconds)
	}
	r.Tables, r.Charts = []benchmarks.Table{table}, []benchmarks.Chart{chart}
	r.Compare("time unschedulable of upgrade / floor", cordon/floor)
	return r
}

// A bench has the joined node and what was measured.
type bench struct {
	env      *testenv.Environment
	upgrades []time.Duration // the whole command
	cordons  []time.Duration // of the upgrades
	floors   []time.Duration
	steps    []testenv.Step // of the last upgrade
}
