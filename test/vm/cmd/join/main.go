// SPDX-License-Identifier: Apache-2.0

// Command join compares the time of a join with its floor: the same machine is brought to the same state by a script
// that has everything prepared, and starts Open vSwitch, the change of the network, CRI-O and kubelet with nothing in
// between. It also measures commands on the joined node. It has no assertions.
//
// Usage: join [-rounds N] [-traces DIRECTORY], from inside the repository, as root
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

func main() {
	rounds := flag.Int("rounds", 3, "how often each is measured; the median is shown")
	traces := flag.String("traces", "", "save the traces of the first and the second join in this `DIRECTORY`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *rounds, *traces)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "join:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, traces string) (err error) {
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
	for range rounds {
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
	}
	b.print()
	return nil
}

// print prints the medians.
func (b *bench) print() {
	join, floor := median(b.joins), median(b.floors)
	fmt.Printf("join %.1f s, floor %.1f s, ratio %.2f\n", join.Seconds(), floor.Seconds(), join.Seconds()/floor.Seconds())
	for _, name := range b.order {
		fmt.Printf("  %-22s %6.1f s\n", name, median(b.steps[name]).Seconds())
	}
	for _, c := range b.commands {
		fmt.Printf("%-44s %6.1f s\n", c.line, median(c.took).Seconds())
	}
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
