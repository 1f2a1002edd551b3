// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/benchmarks"
)

func TestResult(t *testing.T) {
	got := toResult([]medians{
		{config: "8 files", agent: 30, ignition: 20, again: 25, agentPeak: 12, ignitionPeak: 10},
		{config: "80 files", agent: 120, ignition: 100, again: 110, agentPeak: 18, ignitionPeak: 20},
	}, 15)
	rows := [][]string{
		{"8 files", "30", "20", "1.50", "25", "12", "10"}, {"80 files", "120", "100", "1.20", "110", "18", "20"},
	}
	if diff := cmp.Diff(rows, got.Tables[0].Rows); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	charts := []benchmarks.Chart{
		{
			Title: "Time of the agent / time of Ignition", Labels: []string{"8 files", "80 files"},
			Series: []benchmarks.Series{{Values: []float64{1.5, 1.2}}},
		},
		{
			Title: "Peak memory, MiB", Labels: []string{"8 files", "80 files"},
			Series: []benchmarks.Series{
				{Name: "agent", Values: []float64{12, 18}}, {Name: "Ignition", Values: []float64{10, 20}},
			},
		},
	}
	if diff := cmp.Diff(charts, got.Charts); diff != "" {
		t.Errorf("charts (-want +got):\n%s", diff)
	}
	compared := []benchmarks.Figure{
		{Name: "time of agent / Ignition: 8 files", Value: 1.5},
		{Name: "memory of agent / Ignition: 8 files", Value: 1.2},
		{Name: "time of agent / Ignition: 80 files", Value: 1.2},
		{Name: "memory of agent / Ignition: 80 files", Value: 0.9},
	}
	if diff := cmp.Diff(compared, got.Compared); diff != "" {
		t.Errorf("compared (-want +got):\n%s", diff)
	}
}
