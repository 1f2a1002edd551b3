// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/test/benchmarks"
)

// charted are the figures per node of each phase that are drawn, and compared between the sizes.
var charted = []string{"controller, CPU ms", "controller, received kB", "agent, received kB"}

// toResult returns the table without the written objects, the charts, and the ratios of figures per node at the largest
// and the smallest size. The fetches are those of each of the rates.
func toResult(results []result, all []fetches, agents int) benchmarks.Result {
	r := benchmarks.Result{Name: "fleet", Method: "Simulated nodes with the agent's own code enroll, report once and " +
		"are upgraded, with a real API server, etcd and three replicas of the controller. Many agents fetch a payload of " +
		"450 kB from one ignition server at the same time. All run on the same machine."}
	first, last := results[0], results[len(results)-1]
	table := benchmarks.Table{Header: []string{"figure (per node: *)"}}
	charts := make([]benchmarks.Chart, len(charted))
	for i, figure := range charted {
		charts[i] = benchmarks.Chart{Title: figure + ", per node", XTitle: "nodes"}
	}
	for _, size := range results {
		table.Header = append(table.Header, fmt.Sprintf("%d nodes", size.nodes))
		for i := range charts {
			charts[i].X = append(charts[i].X, float64(size.nodes))
		}
	}
	for _, one := range rows() {
		if strings.Contains(one.name, ": writ") { // writes of a kind, and written bytes
			continue
		}
		cells, values := []string{one.name}, []float64{}
		for _, size := range results {
			values = append(values, one.value(size))
			cells = append(cells, fmt.Sprintf(one.format, one.value(size)))
		}
		if one.perNode {
			cells[0] += " *"
		}
		table.Rows = append(table.Rows, cells)
		phase, figure, _ := strings.Cut(one.name, ": ")
		for i := range charts {
			if charted[i] != figure {
				continue
			}
			charts[i].Series = append(charts[i].Series, benchmarks.Series{Name: phase, Values: values})
			if one.value(first) > 0 {
				r.Compare(fmt.Sprintf("%s per node: %d nodes / %d nodes", one.name, last.nodes, first.nodes),
					one.value(last)/one.value(first))
			}
		}
	}
	r.Compare(fmt.Sprintf("memory of a replica with %d nodes, MiB", last.nodes), last.peak)
	r.Tables, r.Charts = []benchmarks.Table{table}, charts
	if len(all) > 0 {
		fetch := benchmarks.Table{Header: []string{
			fmt.Sprintf("fetch by %d agents", agents), "ideal, s", "all, s", "ratio", "repeated requests", "failed",
		}}
		for i, f := range all {
			fetch.AddRow(fmt.Sprintf("%d Mbit/s", rates[i]), max(f.link, f.processors).Seconds(), f.all.Seconds(), f.ratio(),
				float64(f.retries), float64(f.failed))
			r.Compare(fmt.Sprintf("fetch by %d agents at %d Mbit/s / ideal time", agents, rates[i]), f.ratio())
		}
		r.Tables = append(r.Tables, fetch)
	}
	return r
}
