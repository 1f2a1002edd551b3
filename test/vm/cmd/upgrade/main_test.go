// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/benchmarks"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

func TestResult(t *testing.T) {
	b := bench{
		upgrades: []time.Duration{40 * time.Second, 50 * time.Second, 90 * time.Second},
		cordons:  []time.Duration{30 * time.Second, 20 * time.Second, 24 * time.Second},
		floors:   []time.Duration{16 * time.Second, 18 * time.Second, 10 * time.Second},
		steps:    []testenv.Step{{Name: "drain", Seconds: 6}, {Name: "kubelet", Seconds: 5}},
	}
	got := b.result()
	rows := [][]string{{"hcp-node-agent upgrade", "50"}, {"unschedulable in it", "24"}, {"floor", "16"}}
	if diff := cmp.Diff(rows, got.Tables[0].Rows); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	charts := []benchmarks.Chart{{
		Title: "Steps of the last upgrade, s", Labels: []string{"drain", "kubelet"},
		Series: []benchmarks.Series{{Values: []float64{6, 5}}},
	}}
	if diff := cmp.Diff(charts, got.Charts); diff != "" {
		t.Errorf("charts (-want +got):\n%s", diff)
	}
	compared := []benchmarks.Figure{{Name: "time unschedulable of upgrade / floor", Value: 1.5}}
	if diff := cmp.Diff(compared, got.Compared); diff != "" {
		t.Errorf("compared (-want +got):\n%s", diff)
	}
}
