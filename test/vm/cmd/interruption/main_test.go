// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/benchmarks"
)

func TestResult(t *testing.T) {
	of := func(d time.Duration) outage { return outage{d, false} }
	got := toResult([]interruption{
		{uplink: "dhcp4", family: "IPv4", script: of(8 * time.Second), agent: of(40 * time.Millisecond)},
		{uplink: "dual", family: "IPv6", script: of(2 * time.Second)},
		{uplink: "dual", family: "none", agent: of(time.Second)},
		{uplink: "slaac", family: "IPv6", script: outage{time.Minute, true}, agent: of(time.Second)},
	}, 3)
	rows := [][]string{
		{"dhcp4, IPv4", "8.000", "0.040"},
		{"dual, IPv6", "2.000", "0.000"},
		{"dual, none", "0.000", "1.000"},
		{"slaac, IPv6", "address lost", "1.000"},
	}
	if diff := cmp.Diff(rows, got.Tables[0].Rows); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	series := []benchmarks.Series{
		{Name: "configure-ovs.sh", Values: []float64{8, 2, 0}}, {Name: "agent", Values: []float64{0.04, 0, 1}},
	}
	if diff := cmp.Diff(series, got.Charts[0].Series); diff != "" {
		t.Errorf("chart (-want +got):\n%s", diff)
	}
	compared := []benchmarks.Figure{
		{Name: "agent / configure-ovs.sh: dhcp4, IPv4", Value: 0.005}, {Name: "agent / configure-ovs.sh: dual, IPv6"},
	}
	if diff := cmp.Diff(compared, got.Compared); diff != "" {
		t.Errorf("compared (-want +got):\n%s", diff)
	}
}
