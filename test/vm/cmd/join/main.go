// SPDX-License-Identifier: Apache-2.0

// Command join compares the time of a join with its floor: the same machine is brought to the same state by a script
// that has everything prepared, and starts Open vSwitch, the change of the network, CRI-O and kubelet with nothing in
// between. It also measures commands on the joined node. It has no assertions.
//
// Usage: join [-rounds N] [-traces DIRECTORY] [-save DIRECTORY], from inside the repository, as root
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
	traces := flag.String("traces", "", "save the traces of the first and the second join in this `DIRECTORY`")
	save := benchmarks.SaveFlag()
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *rounds, *traces, *save)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "join:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, traces, save string) (err error) {
	repository, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the repository: %w", err)
	}
	env, err := testenv.Open(ctx, testenv.Options{
		Repository: repository, Dir: filepath.Join(repository, "build", "join"), Log: os.Stderr, Snapshot: true,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	b := bench{env: env, steps: map[string][]time.Duration{}}
	if err := b.install(ctx); err != nil {
		return err
	}
	for i := range rounds {
		if err := b.measureJoin(ctx); err != nil {
			return err
		}
		if b.commands == nil {
			if err := b.measureNode(ctx, rounds, traces); err != nil {
				return err
			}
		}
		if err := b.measureFloor(ctx); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "round %d of %d: join %.1f s, floor %.1f s\n",
			i+1, rounds, b.joins[i].Seconds(), b.floors[i].Seconds())
	}
	b.print()
	result := b.result()
	result.Guest = env.Machine.Execution()
	return result.Save(save)
}

// result returns the medians.
func (b *bench) result() benchmarks.Result {
	r := benchmarks.Result{Name: "join", Method: fmt.Sprintf("The floor is a script that has everything prepared: it "+
		"brings the same machine to the same state, and starts Open vSwitch, the change of the network, CRI-O and kubelet "+
		"with nothing in between. The figures are medians of %d runs.", len(b.joins))}
	join, floor := benchmarks.Median(b.joins).Seconds(), benchmarks.Median(b.floors).Seconds()
	times := benchmarks.Table{Header: []string{"", "s"}}
	times.AddRow("join", join)
	times.AddRow("floor", floor)
	steps := benchmarks.Chart{Title: "Steps of a join, s", Series: make([]benchmarks.Series, 1)}
	for _, name := range b.order {
		steps.AddGroup(name, benchmarks.Median(b.steps[name]).Seconds())
	}
	commands := benchmarks.Chart{Title: "Commands on the joined node, s", Series: make([]benchmarks.Series, 1)}
	for _, c := range b.commands {
		name := c.line
		if name == secondJoin {
			name = "hcp-node-agent join, again"
		}
		times.AddRow(name, benchmarks.Median(c.took).Seconds())
		commands.AddGroup(name, benchmarks.Median(c.took).Seconds())
	}
	memory := benchmarks.Table{Header: []string{"memory", "MiB"}}
	memory.AddRow("join, at most", benchmarks.Median(b.memory))
	r.Compare("join / floor", join/floor)
	r.Compare("memory of join, MiB", benchmarks.Median(b.memory))
	r.Tables, r.Charts = []benchmarks.Table{times, memory}, []benchmarks.Chart{steps, commands}
	return r
}

// print prints the medians.
func (b *bench) print() {
	join, floor := benchmarks.Median(b.joins), benchmarks.Median(b.floors)
	fmt.Printf("join %.1f s, floor %.1f s, ratio %.2f\n", join.Seconds(), floor.Seconds(), join.Seconds()/floor.Seconds())
	for _, name := range b.order {
		fmt.Printf("  %-22s %6.1f s\n", name, benchmarks.Median(b.steps[name]).Seconds())
	}
	for _, c := range b.commands {
		fmt.Printf("%-44s %6.1f s\n", c.line, benchmarks.Median(c.took).Seconds())
	}
}
