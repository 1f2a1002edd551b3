// SPDX-License-Identifier: Apache-2.0

// Command bench compares the time and memory of the agent's apply with those of Ignition. Both
// apply the same config to new copies of the same tree, in turn. It has no assertions.
//
// Usage: bench [-runs N] [-save DIRECTORY] AGENT, from inside the repository, as root
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/benchmarks"
	"github.com/hcp-node-agent/hcp-node-agent/test/differential"
)

func main() {
	runs := flag.Int("runs", 15, "how often each is measured")
	files := flag.Int("write", -1, "only write the payload of so many files")
	save := benchmarks.SaveFlag()
	flag.Parse()
	if *files >= 0 && flag.NArg() == 1 {
		if err := write(*files, flag.Arg(0)); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "bench: the agent's program is missing: bench [-runs N] AGENT")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, flag.Arg(0), *runs, *save); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // the signal handler ends with the process
	}
}

func measure(ctx context.Context, agent string, runs int, save string) error {
	oracle, err := differential.BuildOracle(ctx)
	if err != nil {
		return err
	}
	sizes := []int{80, 800, 8000}
	if _, there, err := servedFile(); err != nil {
		return err
	} else if there {
		sizes = append([]int{servedPayload}, sizes...)
	}
	fmt.Printf("%-34s %10s %10s %6s %10s %12s %12s\n", "config", "agent", "Ignition", "ratio", "again", "agent",
		"Ignition")
	fmt.Printf("%-34s %10s %10s %6s %10s %12s %12s\n", "", "ms", "ms", "", "ms", "peak MiB", "peak MiB")
	var all []medians
	for _, files := range sizes {
		b := bench{ctx: ctx, agent: agent, oracle: oracle}
		times := runs
		if files > 1000 {
			times = max(3, runs/5)
		}
		if err := b.compare(files, times); err != nil {
			return fmt.Errorf("%s: %w", name(files), err)
		}
		m := medians{
			config: name(files), agent: benchmarks.Median(b.agentTimes), ignition: benchmarks.Median(b.ignitionTimes),
			again:     benchmarks.Median(b.agentRerun),
			agentPeak: slices.Max(b.agentPeak), ignitionPeak: slices.Max(b.ignitionPeak),
		}
		fmt.Printf("%-34s %10.1f %10.1f %6.2f %10.1f %12.0f %12.0f\n", m.config, m.agent, m.ignition, m.agent/m.ignition,
			m.again, m.agentPeak, m.ignitionPeak)
		all = append(all, m)
	}
	return toResult(all, runs).Save(save)
}

// bench collects times in milliseconds and memory in MiB.
type bench struct {
	ctx    context.Context
	agent  string
	oracle differential.Oracle

	agentTimes, ignitionTimes, agentRerun, agentPeak, ignitionPeak []float64
}

func (b *bench) compare(files, runs int) error {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
	config := filepath.Join(dir, "config.ign")
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if output, err := exec.CommandContext(b.ctx, self, "-write", strconv.Itoa(files),
		config).CombinedOutput(); err != nil {
		return fmt.Errorf("writing the config: %w\n%s", err, output)
	}
	for i := range runs + 1 {
		// The trees are removed at the end. On ext4, the search for a free inode passes over each inode that was removed
		// lately, which took a third of the time.
		mine, other := filepath.Join(dir, fmt.Sprint("agent-", i)), filepath.Join(dir, fmt.Sprint("ignition-", i))
		for _, root := range []string{mine, other} {
			if err := differential.CreateTree(root, tree()); err != nil {
				return err
			}
		}
		agent := func() *exec.Cmd {
			return exec.CommandContext(b.ctx, b.agent, "apply", "--payload", config, "--root", mine)
		}
		commands := []*exec.Cmd{agent(), b.oracle.ApplyCommand(b.ctx, config, other)}
		if i%2 == 0 { // alternate the order, so that pending writes affect both equally
			slices.Reverse(commands)
		}
		found := map[bool]run{}
		for _, command := range commands {
			r, err := timed(command)
			if err != nil {
				return err
			}
			found[command.Args[0] == b.agent] = r
		}
		again, err := timed(agent())
		if err != nil {
			return err
		}
		if i == 0 {
			continue // the first run has cold caches
		}
		b.agentTimes, b.ignitionTimes, b.agentRerun = append(b.agentTimes, found[true].ms),
			append(b.ignitionTimes, found[false].ms), append(b.agentRerun, again.ms)
		b.agentPeak, b.ignitionPeak = append(b.agentPeak, found[true].mib), append(b.ignitionPeak, found[false].mib)
	}
	return nil
}

type run struct{ ms, mib float64 }

func timed(command *exec.Cmd) (run, error) {
	began := time.Now()
	output, err := command.CombinedOutput()
	took := time.Since(began)
	if err != nil {
		return run{}, fmt.Errorf("%v: %w\n%s", command.Args, err, output)
	}
	usage := command.ProcessState.SysUsage().(*syscall.Rusage)
	return run{ms: float64(took.Microseconds()) / 1000, mib: float64(usage.Maxrss) / 1024}, nil
}
