// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// result has the figures of a fleet.
type result struct {
	nodes, hostile           int
	enroll, reports, rollout phase
	peak                     float64 // MiB of the largest replica
	unavailable              int     // by the rollout, at a time, slots included
	largest                  map[string]written
	check                    check
}

// phase has the figures of a phase: those of all replicas of the controller, and of all agents.
type phase struct {
	took               time.Duration
	cpu                float64 // seconds, of the controller
	controller, agents traffic
	writes             map[string]written // of the cluster, by kind
}

// check has the bytes of an agent's regular requests.
type check struct{ get, report float64 }

// measureChecks measures the regular requests of one agent.
func (f *fleet) measureChecks(ctx context.Context) (check, error) {
	const count = 50
	n := f.nodes[0]
	measure := func(request func() error) (float64, error) {
		before := f.agents.traffic(f.requests)
		for range count {
			if err := request(); err != nil {
				return 0, err
			}
		}
		used := f.agents.traffic(f.requests).minus(before)
		return float64(used.received+used.sent) / count, nil
	}
	var c check
	var err error
	if c.get, err = measure(func() error {
		_, _, err := n.agent.Annotations(ctx)
		return err
	}); err != nil {
		return c, err
	}
	c.report, err = measure(func() error { return n.report(ctx, v1alpha1.AgentHealthy, "") })
	return c, err
}

// row is a figure for each size.
type row struct {
	name    string
	format  string
	perNode bool
	value   func(result) float64
}

const kilobyte = 1000

// kinds are the kinds whose writes are in the table.
var kinds = []string{"Node", "NodeEnrollment", "NodeRollout", "RoleBinding"}

// rows returns the rows of the table.
func rows() []row {
	all := []row{
		{"CSRs that must stay pending", "%.0f", false, func(r result) float64 { return float64(r.hostile) }},
		{"most nodes unavailable", "%.0f", false, func(r result) float64 { return float64(r.unavailable) }},
		{"controller, peak memory of a replica, MiB", "%.0f", false, func(r result) float64 { return r.peak }},
	}
	for _, of := range []struct {
		name  string
		phase func(result) phase
	}{
		{"enrollment", func(r result) phase { return r.enroll }},
		{"one report", func(r result) phase { return r.reports }},
		{"upgrade", func(r result) phase { return r.rollout }},
	} {
		add := func(name, format string, perNode bool, value func(phase) float64) {
			all = append(all, row{of.name + ": " + name, format, perNode, func(r result) float64 {
				if perNode {
					return value(of.phase(r)) / float64(r.nodes)
				}
				return value(of.phase(r))
			}})
		}
		add("time, s", "%.1f", false, func(p phase) float64 { return p.took.Seconds() })
		add("controller, CPU ms", "%.1f", true, func(p phase) float64 { return p.cpu * 1000 })
		for _, one := range []struct {
			name    string
			traffic func(phase) traffic
		}{
			{"controller", func(p phase) traffic { return p.controller }},
			{"agent", func(p phase) traffic { return p.agents }},
		} {
			add(one.name+", requests", "%.1f", true, func(p phase) float64 { return float64(one.traffic(p).requests) })
			add(one.name+", received kB", "%.1f", true,
				func(p phase) float64 { return float64(one.traffic(p).received) / kilobyte })
			add(one.name+", sent kB", "%.1f", true,
				func(p phase) float64 { return float64(one.traffic(p).sent) / kilobyte })
		}
		for _, kind := range kinds {
			add("writes of "+kind, "%.2f", true, func(p phase) float64 { return float64(p.writes[kind].count) })
			add("written "+kind+", kB", "%.1f", true, func(p phase) float64 { return float64(p.writes[kind].bytes) / kilobyte })
		}
	}
	for _, kind := range kinds {
		all = append(all, row{
			"largest " + kind + ", kB", "%.1f", false,
			func(r result) float64 { return float64(r.largest[kind].largest) / kilobyte },
		})
	}
	return append(all,
		row{"check for a slot, kB", "%.2f", false, func(r result) float64 { return r.check.get / kilobyte }},
		row{"report of an agent, kB", "%.2f", false, func(r result) float64 { return r.check.report / kilobyte }})
}

// barLength is the length of the longest bar of the chart.
const barLength = 40

// printChart prints the figures per node of the controller as bars: of equal length if they do not depend on the number
// of nodes.
func printChart(to io.Writer, results []result) {
	for _, one := range rows() {
		if !one.perNode || !strings.Contains(one.name, ": controller, ") || strings.Contains(one.name, "report") {
			continue
		}
		fmt.Fprintf(to, "\n%s, per node\n", one.name)
		longest := 0.0
		for _, r := range results {
			longest = max(longest, one.value(r))
		}
		for _, r := range results {
			bar := strings.Repeat("#", int(math.Round(one.value(r)/max(longest, 1)*barLength)))
			fmt.Fprintf(to, "%6d nodes  %-*s  "+one.format+"\n", r.nodes, barLength, bar, one.value(r))
		}
	}
}

// printTable prints a figure per line and a size per column. The last column is the ratio of a figure per node at the
// largest and at the smallest size.
func printTable(to io.Writer, results []result) {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(cells ...string) { fmt.Fprintln(table, strings.Join(cells, "\t")+"\t") }
	header := []string{"figure (per node: *)"}
	for _, r := range results {
		header = append(header, fmt.Sprintf("%d nodes", r.nodes))
	}
	last := results[len(results)-1]
	line(append(header, "ratio")...)
	for _, one := range rows() {
		if !slices.ContainsFunc(results, func(r result) bool { return one.value(r) != 0 }) {
			continue
		}
		ratio, name := "", one.name
		if one.perNode {
			name += " *"
			if first := one.value(results[0]); first > 0 {
				ratio = fmt.Sprintf("%.2f", one.value(last)/first)
			}
		}
		cells := []string{name}
		for _, r := range results {
			cells = append(cells, fmt.Sprintf(one.format, one.value(r)))
		}
		line(append(cells, ratio)...)
	}
	_ = table.Flush() // the error of standard output
}
