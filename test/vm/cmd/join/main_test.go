// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/benchmarks"
)

func TestResult(t *testing.T) {
	b := bench{
		joins:  []time.Duration{50 * time.Second, 60 * time.Second, 90 * time.Second},
		floors: []time.Duration{41 * time.Second, 40 * time.Second, 39 * time.Second},
		memory: []float64{41, 43, 42},
		order:  []string{"fetch", "kubelet"},
		steps:  map[string][]time.Duration{"fetch": {time.Second}, "kubelet": {30 * time.Second}},
		commands: []*command{
			{line: secondJoin, took: []time.Duration{4 * time.Second}},
			{line: "hcp-node-agent status", took: []time.Duration{500 * time.Millisecond}},
		},
	}
	got := b.result()
	rows := [][]string{
		{"join", "60"}, {"floor", "40"}, {"hcp-node-agent join, again", "4"}, {"hcp-node-agent status", "0.500"},
	}
	if diff := cmp.Diff(rows, got.Tables[0].Rows); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	charts := []benchmarks.Chart{
		{
			Title: "Steps of a join, s", Labels: []string{"fetch", "kubelet"},
			Series: []benchmarks.Series{{Values: []float64{1, 30}}},
		},
		{
			Title: "Commands on the joined node, s", Labels: []string{"hcp-node-agent join, again", "hcp-node-agent status"},
			Series: []benchmarks.Series{{Values: []float64{4, 0.5}}},
		},
	}
	if diff := cmp.Diff(charts, got.Charts); diff != "" {
		t.Errorf("charts (-want +got):\n%s", diff)
	}
	compared := []benchmarks.Figure{{Name: "join / floor", Value: 1.5}, {Name: "memory of join, MiB", Value: 42}}
	if diff := cmp.Diff(compared, got.Compared); diff != "" {
		t.Errorf("compared (-want +got):\n%s", diff)
	}
}
