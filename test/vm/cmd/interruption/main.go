// SPDX-License-Identifier: Apache-2.0

// Command interruption compares how long a host is unreachable while its uplink is attached to br-ex, by
// the agent and by a script with the steps of OpenShift's configure-ovs.sh. Both run in the same
// machine, and each kind of uplink starts from the same state. A peer sends an echo request every
// 10 ms.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/benchmarks"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/lab"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/uplink"
)

// comparison has the lab and the machine for the measurements.
type comparison struct {
	lab     *lab.Lab
	machine *vm.Machine
	rounds  int
	found   []interruption
}

// interruption has the medians for the addresses of one family of an uplink.
type interruption struct {
	uplink, family string
	script, agent  outage
}

// outage is the longest time without a response. If the address is lost, because br-ex got another one, it did not end
// while it was measured.
type outage struct {
	time.Duration

	lost bool
}

func (g outage) String() string {
	if g.lost {
		return "address lost"
	}
	return fmt.Sprintf("%.3f", g.Seconds())
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "interruption:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	repository := flag.String("repository", ".", "the repository with the image's recipe and bin/hcp-node-agent")
	names := flag.String("kinds", "dhcp4,static4,dual", "kinds of uplink, separated by commas")
	rounds := flag.Int("rounds", 3, "how often each is measured; the median is shown")
	save := benchmarks.SaveFlag()
	flag.Parse()
	kinds, err := uplink.Find(*names)
	if err != nil {
		return err
	}
	b := comparison{rounds: *rounds}
	if b.lab, err = lab.Open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.lab.Close()) }()
	if err := b.boot(ctx, *repository); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.machine.Close()) }()
	fmt.Printf("%-16s %-6s %14s %14s %8s\n", "uplink", "family", "configure-ovs", "agent, s", "ratio")
	for _, kind := range kinds {
		if err := b.compare(ctx, kind); err != nil {
			return fmt.Errorf("%s: %w", kind.Name, err)
		}
	}
	result := toResult(b.found, b.rounds)
	result.Guest = b.machine.Execution()
	return result.Save(*save)
}

func toResult(all []interruption, rounds int) benchmarks.Result {
	r := benchmarks.Result{Name: "interruption", Method: fmt.Sprintf("The uplink of a machine is attached to br-ex by a "+
		"script with the steps of configure-ovs.sh, and by the agent. A peer sends an echo request every 10 ms. The figures "+
		"are the longest times without a response, medians of %d runs. An address is lost if br-ex gets another one.",
		rounds)}
	table := benchmarks.Table{Header: []string{"uplink", "configure-ovs.sh, s", "agent, s"}}
	chart := benchmarks.Chart{
		Title: "Interruption, s", Series: []benchmarks.Series{{Name: "configure-ovs.sh"}, {Name: "agent"}},
	}
	for _, i := range all {
		name, script, agent := i.uplink+", "+i.family, i.script.Seconds(), i.agent.Seconds()
		table.Rows = append(table.Rows, []string{name, i.script.String(), i.agent.String()})
		if i.script.lost || i.agent.lost {
			continue
		}
		chart.AddGroup(name, script, agent)
		if script > 0 {
			r.Compare("agent / configure-ovs.sh: "+name, agent/script)
		}
	}
	r.Tables, r.Charts = []benchmarks.Table{table}, []benchmarks.Chart{chart}
	return r
}

// freshSnapshot is the machine's snapshot with both implementations installed.
const freshSnapshot = "fresh"

func (b *comparison) boot(ctx context.Context, repository string) error {
	image, err := vm.BuildImage(ctx, repository, os.Stderr)
	if err != nil {
		return err
	}
	// A machine that is restored from its saved state waits for an address.
	if err := b.lab.Arrange(ctx, lab.Setup{Services: map[int]lab.Services{0: {DHCP: true}}}); err != nil {
		return err
	}
	if b.machine, err = vm.FromSnapshot(ctx, vm.Config{Image: image, NICs: b.lab.NICs()}); err != nil {
		return err
	}
	agent, err := os.Open(filepath.Join(repository, "bin", "hcp-node-agent"))
	if err != nil {
		return fmt.Errorf("reading the agent (make build makes it): %w", err)
	}
	defer agent.Close()
	if err := b.machine.Put(ctx, "/usr/bin/hcp-node-agent", agent, 0o755); err != nil {
		return err
	}
	if err := b.machine.Put(ctx, "/root/classic.sh", strings.NewReader(uplink.ClassicScript), 0o755); err != nil {
		return err
	}
	if _, err := b.machine.Output(ctx, "systemctl enable --now openvswitch"); err != nil {
		return err
	}
	return b.machine.Snapshot(ctx, freshSnapshot)
}

// compare measures both implementations in turn and prints one line for each address family.
func (b *comparison) compare(ctx context.Context, kind uplink.Kind) error {
	ways := []string{"/root/classic.sh " + kind.Uplink, "hcp-node-agent join --only network " + kind.Flags}
	longest := map[string][][]outage{} // by family and implementation
	for range b.rounds {
		for way, command := range ways {
			outages, err := b.measure(ctx, kind, command)
			if err != nil {
				return err
			}
			for family, found := range outages {
				if longest[family] == nil {
					longest[family] = make([][]outage, len(ways))
				}
				longest[family][way] = append(longest[family][way], found)
			}
		}
	}
	for _, family := range slices.Sorted(maps.Keys(longest)) {
		script, agent := median(longest[family][0]), median(longest[family][1])
		ratio := "no ratio"
		if agent.Duration > 0 && !script.lost && !agent.lost {
			ratio = fmt.Sprintf("%.0f", script.Seconds()/agent.Seconds())
		}
		b.found = append(b.found, interruption{uplink: kind.Name, family: family, script: script, agent: agent})
		fmt.Printf("%-16s %-6s %14s %14s %8s\n", kind.Name, family, script, agent, ratio)
	}
	return nil
}

// measure returns the longest interruption for each of the uplink's addresses, while the command
// runs and for five seconds after it.
func (b *comparison) measure(ctx context.Context, kind uplink.Kind, command string) (map[string]outage, error) {
	if err := b.lab.Arrange(ctx, kind.Lab); err != nil {
		return nil, err
	}
	if err := b.machine.Restore(ctx, freshSnapshot); err != nil {
		return nil, err
	}
	if err := kind.Configure(ctx, b.machine); err != nil {
		return nil, err
	}
	addresses, err := kind.Addresses(ctx, b.machine)
	if err != nil {
		return nil, err
	}
	probes := map[string]*lab.Probe{}
	for _, address := range addresses {
		family := "IPv4"
		if address.Is6() {
			family = "IPv6"
		}
		if probes[family], err = b.lab.Probe(address); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	_, err = b.machine.Output(ctx, command)
	if err == nil {
		err = settle(ctx)
	}
	outages := map[string]outage{}
	for family, probe := range probes {
		seen := probe.Stop()
		outages[family] = outage{seen.Longest, seen.Unanswered}
		if seen.Unanswered {
			outages[family] = outage{max(seen.Longest, time.Since(began)), true}
		}
	}
	return outages, err
}

// settle waits for delayed effects after a command has ended.
func settle(ctx context.Context) error {
	select {
	case <-time.After(5 * time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func median(all []outage) outage {
	slices.SortFunc(all, func(a, b outage) int { return cmp.Compare(a.Duration, b.Duration) })
	return all[len(all)/2]
}
