// SPDX-License-Identifier: Apache-2.0

// Command service measures the memory and the processor time that the service uses on a node that
// it only watches. The machine is emulated, so a reference workload runs in the machine and on
// this host, and processor time is printed for both speeds.
//
// Usage: service [-for 10m] [-save DIRECTORY], from inside the repository, as root
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/benchmarks"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// settleTime is the time for the service's first checks, before the measurement begins.
const settleTime = 90 * time.Second

func main() {
	long := flag.Duration("for", 10*time.Minute,
		"how long to measure; every look but the seldom ones comes in ten minutes")
	save := benchmarks.SaveFlag()
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *long, *save)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, long time.Duration, save string) (err error) {
	repository, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the repository: %w", err)
	}
	s, err := testenv.Open(ctx, testenv.Options{
		Repository: repository,
		Dir:        filepath.Join(repository, "build", "service"),
		Log:        os.Stderr,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := errors.Join(s.Install(ctx), s.CopyInputs(ctx)); err != nil {
		return err
	}
	slower, err := slowdown(ctx, s, filepath.Join(repository, "bin", "hcp-node-agent"))
	if err != nil {
		return err
	}
	if _, err := s.Machine.Output(ctx, "hcp-node-agent join --user-data "+testenv.UserDataPath+" --approve-with "+
		testenv.ApproverKubeconfigPath+
		" && for i in $(seq 120); do systemctl is-active -q hcp-node-agent && exit; sleep 1; done; exit 1"); err != nil {
		return err
	}
	if err := sleep(ctx, settleTime); err != nil {
		return err
	}
	before, err := readResourceUse(ctx, s)
	if err != nil {
		return err
	}
	if err := sleep(ctx, long); err != nil {
		return err
	}
	after, err := readResourceUse(ctx, s)
	if err != nil {
		return err
	}
	first, minute := before.processor.Seconds(), (after.processor-before.processor).Seconds()/long.Minutes()
	fmt.Printf("memory: %.1f MiB of its own, and %.1f MiB of its program's file in the page cache\n", after.anonymous,
		after.mapped)
	fmt.Printf("processor time, first %.0f s: %.2f s in the machine, which is %.0f times slower than this host: %.2f s\n",
		settleTime.Seconds(), first, slower, first/slower)
	fmt.Printf("processor time of a minute after that: %.3f s in the machine, %.3f s at this host's speed (%.2f %% of "+
		"one processor)\n",
		minute, minute/slower, minute/slower/60*100)
	result := toResult(after, long, first/slower, minute/slower)
	result.Guest = s.Machine.Execution()
	return result.Save(save)
}

// toResult returns the memory and the seconds of processor time of the service, which are those at this host's speed.
func toResult(use resourceUse, long time.Duration, first, minute float64) benchmarks.Result {
	r := benchmarks.Result{Name: "service", Method: fmt.Sprintf("The service watches a node for %s. Its processor time "+
		"is converted to the speed of this host, by a reference workload in the machine and on this host.", long)}
	table := benchmarks.Table{Header: []string{"resource", "use"}}
	add := func(name string, value float64) {
		table.AddRow(name, value)
		r.Compare(name, value)
	}
	add("memory, MiB", use.anonymous)
	add("binary in the page cache, MiB", use.mapped)
	add(fmt.Sprintf("processor time in the first %.0f s, s", settleTime.Seconds()), first)
	add("processor time per minute after that, ms", minute*1000)
	r.Tables = []benchmarks.Table{table}
	return r
}

func sleep(ctx context.Context, long time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(long):
		return nil
	}
}

// resourceUse has systemd's accounting of the service.
type resourceUse struct {
	processor time.Duration
	anonymous float64 // MiB of written memory, which is not shared
	mapped    float64 // MiB of mapped files, which the kernel can reclaim
}

func readResourceUse(ctx context.Context, s *testenv.Environment) (resourceUse, error) {
	out, err := s.Machine.Output(ctx, `systemctl show --value -p CPUUsageNSec hcp-node-agent
		pid=$(systemctl show --value -p MainPID hcp-node-agent)
		awk '/^RssAnon/ {own = $2} /^RssFile/ {mapped = $2} END {print own, mapped}' /proc/$pid/status`)
	if err != nil {
		return resourceUse{}, err
	}
	n, err := numbers(out, 3)
	if err != nil {
		return resourceUse{}, err
	}
	return resourceUse{processor: time.Duration(n[0]), anonymous: n[1] / 1024, mapped: n[2] / 1024}, nil
}

// slowdown returns how many times longer the reference workload takes in the machine.
func slowdown(ctx context.Context, s *testenv.Environment, agent string) (float64, error) {
	const rounds = 10
	own := time.Duration(0)
	for range rounds {
		command := exec.CommandContext(ctx, agent, "docs", "markdown")
		if err := command.Run(); err != nil {
			return 0, fmt.Errorf("timing the agent on this host: %w", err)
		}
		own += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	}
	out, err := s.Machine.Output(ctx, fmt.Sprintf(`bash -c 'TIMEFORMAT="%%U %%S"
		{ time for i in $(seq %d); do hcp-node-agent docs markdown >/dev/null; done; } 2>&1'`, rounds))
	if err != nil {
		return 0, err
	}
	n, err := numbers(out, 2)
	if err != nil {
		return 0, err
	}
	return (n[0] + n[1]) / own.Seconds(), nil
}

func numbers(text string, count int) ([]float64, error) {
	var all []float64
	for _, word := range strings.Fields(text) {
		n, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, fmt.Errorf("the output of the machine is %q: %w", text, err)
		}
		all = append(all, n)
	}
	if len(all) != count {
		return nil, fmt.Errorf("the output of the machine is %q, want %d numbers", text, count)
	}
	return all, nil
}
