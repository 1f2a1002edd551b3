// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/test/benchmarks"
)

// medians has the medians of the times of a config in milliseconds, and the largest memory in MiB.
type medians struct {
	config                  string
	agent, ignition, again  float64
	agentPeak, ignitionPeak float64
}

func toResult(all []medians, runs int) benchmarks.Result {
	r := benchmarks.Result{Name: "apply", Method: fmt.Sprintf("The agent and Ignition apply the same config to new "+
		"copies of the same tree, in turn. The times are medians of %d runs (fewer for 8,000 files), the memory is the "+
		"largest of all runs.", runs)}
	times := benchmarks.Table{Header: []string{
		"config", "agent, ms", "Ignition, ms", "ratio", "agent again, ms", "agent, MiB", "Ignition, MiB",
	}}
	ratio := benchmarks.Chart{Title: "Time of the agent / time of Ignition", Series: make([]benchmarks.Series, 1)}
	memory := benchmarks.Chart{
		Title: "Peak memory, MiB", Series: []benchmarks.Series{{Name: "agent"}, {Name: "Ignition"}},
	}
	for _, m := range all {
		times.AddRow(m.config, m.agent, m.ignition, m.agent/m.ignition, m.again, m.agentPeak, m.ignitionPeak)
		ratio.AddGroup(m.config, m.agent/m.ignition)
		memory.AddGroup(m.config, m.agentPeak, m.ignitionPeak)
		r.Compare("time of agent / Ignition: "+m.config, m.agent/m.ignition)
		r.Compare("memory of agent / Ignition: "+m.config, m.agentPeak/m.ignitionPeak)
	}
	r.Tables, r.Charts = []benchmarks.Table{times}, []benchmarks.Chart{ratio, memory}
	return r
}
