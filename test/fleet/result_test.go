// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/benchmarks"
)

func TestResult(t *testing.T) {
	size := func(nodes int, cpu, peak float64) result {
		return result{
			nodes: nodes, peak: peak,
			enroll: phase{cpu: cpu, writes: map[string]written{"Node": {count: 1}}},
		}
	}
	fetch := fetches{link: 9 * time.Second, processors: 20 * time.Second, all: 30 * time.Second, retries: 7}
	got := toResult([]result{size(100, 1, 50), size(1000, 15, 90)}, []fetches{fetch}, 500)
	header := []string{"figure (per node: *)", "100 nodes", "1000 nodes"}
	if diff := cmp.Diff(header, got.Tables[0].Header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	for _, row := range [][]string{
		{"controller, peak memory of a replica, MiB", "50", "90"}, {"enrollment: controller, CPU ms *", "10.0", "15.0"},
	} {
		if !slices.ContainsFunc(got.Tables[0].Rows, func(other []string) bool { return slices.Equal(row, other) }) {
			t.Errorf("the table has no row %q: %q", row, got.Tables[0].Rows)
		}
	}
	for _, row := range got.Tables[0].Rows {
		if row[0] == "enrollment: writes of Node *" {
			t.Error("the table has the writes")
		}
	}
	if diff := cmp.Diff([][]string{{"400 Mbit/s", "20", "30", "1.50", "7", "0"}}, got.Tables[1].Rows); diff != "" {
		t.Errorf("fetches (-want +got):\n%s", diff)
	}
	chart := benchmarks.Chart{
		Title: "controller, CPU ms, per node", X: []float64{100, 1000}, XTitle: "nodes",
		Series: []benchmarks.Series{
			{Name: "enrollment", Values: []float64{10, 15}},
			{Name: "one report", Values: []float64{0, 0}},
			{Name: "upgrade", Values: []float64{0, 0}},
		},
	}
	if diff := cmp.Diff(chart, got.Charts[0]); diff != "" {
		t.Errorf("chart (-want +got):\n%s", diff)
	}
	if len(got.Charts) != len(charted) {
		t.Errorf("%d charts", len(got.Charts))
	}
	compared := []benchmarks.Figure{
		{Name: "enrollment: controller, CPU ms per node: 1000 nodes / 100 nodes", Value: 1.5},
		{Name: "memory of a replica with 1000 nodes, MiB", Value: 90},
		{Name: "fetch by 500 agents at 400 Mbit/s / ideal time", Value: 1.5},
	}
	if diff := cmp.Diff(compared, got.Compared); diff != "" {
		t.Errorf("compared (-want +got):\n%s", diff)
	}
}
