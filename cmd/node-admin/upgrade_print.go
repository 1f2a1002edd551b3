// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// printNoRollout prints that a NodePool has no NodeRollout, and how it is started.
func printNoRollout(w *report.Page, nodePool string, program cli.Program) {
	w.Item("", "NodePool "+nodePool+" has no NodeRollout: its nodes are upgraded by hand")
	printCommands(w, program, "# lists its nodes with their releases:\nhcp-node-admin nodes --nodepool "+nodePool+"\n"+
		"# lets the controller drain and upgrade them, one after the other:\nhcp-node-admin upgrade "+nodePool+" --start")
}

// printCommands prints the next commands after an empty line.
func printCommands(w *report.Page, program cli.Program, commands string) {
	w.Printf("\n%s\n", program.Remedy(report.Remedy(commands)))
}

// printRollout prints the settings and the state of a rollout, and how its failures are continued.
func printRollout(w *report.Page, object *v1alpha1.NodeRollout, program cli.Program) {
	status := object.Status
	isReported := status.Config != "" || status.Waiting != ""
	switch {
	case status.Config != "":
		w.Item("", fmt.Sprintf("NodePool %s: release %s, configuration %s", object.Name, status.Release, status.Config))
	case isReported:
		w.Item("", "NodePool "+object.Name+": no current configuration is known")
	default:
		w.Item("", "the controller has not reported about NodePool "+object.Name+" yet")
	}
	printSettings(w, object)
	if !isReported {
		printCommands(w, program, "oc get noderollout "+object.Name+" --watch")
		return
	}
	w.Item("", fmt.Sprintf("%d nodes: %d updated, %d unavailable, %d failed", status.Nodes, status.Updated,
		status.Unavailable, status.Failed))
	for _, slot := range status.Slots {
		w.Item("", fmt.Sprintf("%s may upgrade since %s", slot.Node, duration.HumanDuration(time.Since(slot.Given.Time))))
	}
	if status.Waiting != "" {
		w.Item("", "waiting: "+report.EscapeLine(status.Waiting))
	}
	for _, failure := range status.Failures {
		w.Item("", fmt.Sprintf("%s failed: %s", failure.Node, report.EscapeLine(failure.Reason)))
	}
	if len(status.Failures) > 0 {
		printCommands(w, program, fmt.Sprintf("# when the cause is removed:\nhcp-node-admin upgrade %s --retry %s",
			object.Name, report.ShellWord(status.Failures[0].Node)))
	}
}

// printSettings prints whether a rollout is paused, and its limits.
func printSettings(w *report.Page, object *v1alpha1.NodeRollout) {
	spec := object.Spec
	if spec.Paused {
		text := "paused: no upgrade begins before --resume"
		if slots := len(object.Status.Slots); slots > 0 {
			text += fmt.Sprintf("; upgrades in progress, which are completed: %d", slots)
		}
		w.Item("", text)
	}
	limit := "that of the NodePool, else 1"
	if spec.MaxUnavailable != nil {
		limit = spec.MaxUnavailable.String()
	}
	w.Item("", fmt.Sprintf("limits: max-unavailable %s, max-failures %d", limit, spec.MaxFailures))
	if spec.SlotTimeout != nil {
		w.Item("", "slot-timeout: "+spec.SlotTimeout.Duration.String())
	}
	if spec.Canary != nil {
		w.Item("", "canary: nodes with "+report.EscapeLine(metav1.FormatLabelSelector(spec.Canary))+" first")
	}
	if window := spec.Window; window != nil {
		zone := window.TimeZone
		if zone == "" {
			zone = "UTC"
		}
		w.Item("", fmt.Sprintf("window: opens at %s (%s) for %s", report.EscapeLine(window.Schedule),
			report.EscapeLine(zone), window.Duration.Duration))
	}
}
