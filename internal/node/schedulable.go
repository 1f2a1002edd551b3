// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// WaitSchedulable waits until the Node is schedulable: it is not cordoned, and has
// no taint with the effect NoSchedule or NoExecute but those that the administrator
// requested. Temporary taints are logged only after a delay. A cordon by an earlier
// leave of the agent is removed.
func (n *Node) WaitSchedulable(ctx context.Context) error {
	reporter := n.newProgressReporter()
	known := facts{name: n.Name, bootID: n.BootID, requestedTaints: n.RequestedTaints}
	var search searches
	began := time.Now()
	err := kube.Follow(ctx, n.Conn, n.Log, n.source(), evidenceInterval,
		func(found map[string]*corev1.Node) (bool, error) {
			node := found[n.Name]
			if node == nil {
				reporter.update("kubelet to register Node "+n.Name+" again", "Node "+n.Name, []report.Finding{{
					Severity: report.SeverityProblem, Message: "Node " + n.Name + " was deleted",
					Remedy: "systemctl restart kubelet # registers it again",
				}}, false)
				return false, nil
			}
			if note := uncordonNotes[cordonedFor(node)]; note != "" {
				n.Log.Note(note)
				return false, n.uncordon(ctx)
			}
			if node.Spec.Unschedulable && n.AllowCordon {
				n.Log.Note("an administrator has cordoned the Node; it remains cordoned")
				return true, nil
			}
			reasons := unschedulableFindings(node, n.RequestedTaints)
			if len(reasons) == 0 {
				for _, f := range preferNoScheduleFindings(node) {
					n.Log.Note(f.Message)
				}
				return true, nil
			}
			permanent := slices.ContainsFunc(reasons, func(f report.Finding) bool { return !f.Temporary })
			if (permanent || time.Since(began) >= n.quietPeriod) && search.isDue() {
				search.run(func() { known = n.gatherFacts(ctx, node) })
			}
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			known.node = node
			reporter.update("Node "+n.Name+" to become schedulable", "Node "+n.Name+" is not schedulable", diagnose(known),
				true)
			return false, nil
		})
	return reporter.waitError(ctx, err)
}

// unschedulableFindings returns the reasons why pods are not scheduled on the Node,
// each explained. Requested taints are no reason, except those that a component of
// the cluster removes when it is ready.
func unschedulableFindings(node *corev1.Node, requested []string) []report.Finding {
	var permanent, temporary []report.Finding
	add := func(taint corev1.Taint) {
		if f := explainTaint(node, taint); f.Temporary {
			temporary = append(temporary, f)
		} else {
			permanent = append(permanent, f)
		}
	}
	for _, taint := range node.Spec.Taints {
		switch {
		case taint.Effect == corev1.TaintEffectPreferNoSchedule, taint.Key == corev1.TaintNodeUnschedulable:
		case isRequested(taint, requested) && !isRemovedByComponent(taint):
		default:
			add(taint)
		}
	}
	if node.Spec.Unschedulable {
		add(corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	return append(permanent, temporary...)
}

// isRequested reports whether requested contains a taint with the key and effect of taint.
func isRequested(taint corev1.Taint, requested []string) bool {
	return slices.ContainsFunc(requested, func(text string) bool {
		request, err := config.ParseTaint(text)
		return err == nil && request.MatchTaint(&taint)
	})
}

// isRemovedByComponent reports whether a component of the cluster removes the taint when
// it is ready. Cilium, for example, requires nodes to register with such a taint.
func isRemovedByComponent(taint corev1.Taint) bool {
	return slices.ContainsFunc(knownTaints(), func(known knownTaint) bool {
		return known.matches(taint.Key) && (known.temporary || known.removedByComponent)
	})
}

// preferNoScheduleFindings returns a note for each taint with the effect PreferNoSchedule.
func preferNoScheduleFindings(node *corev1.Node) []report.Finding {
	var soft []report.Finding
	for _, taint := range node.Spec.Taints {
		if taint.Effect == corev1.TaintEffectPreferNoSchedule {
			f := explainTaint(node, taint)
			f.Severity = report.SeverityNote
			soft = append(soft, f)
		}
	}
	return soft
}

// explainTaint returns who sets a taint, who removes it, and what to do.
func explainTaint(node *corev1.Node, taint corev1.Taint) report.Finding {
	f := report.Finding{
		Severity: report.SeverityProblem,
		Reason:   report.NodeTainted,
		Message:  "taint " + taint.ToString(),
		Subject:  "taint " + taint.ToString(),
	}
	if taint.Key == corev1.TaintNodeUnschedulable {
		f.Reason = report.NodeCordoned
	}
	if taint.TimeAdded != nil {
		f.Message += " since " + report.Timestamp(taint.TimeAdded.Time)
	}
	if reason := cordonedFor(node); reason != "" && f.Reason == report.NodeCordoned {
		f.Message += ": " + reason.explain()
		f.Remedy, f.Subject, f.Temporary = "hcp-node-agent status", "", true
		return f
	}
	fill := strings.NewReplacer("NODE", node.Name, "KEY", taint.Key)
	for _, known := range knownTaints() {
		if !known.matches(taint.Key) {
			continue
		}
		f.Message += ": " + fill.Replace(known.explanation)
		if f.Remedy, f.Temporary = report.Remedy(fill.Replace(string(known.remedy))), known.temporary; f.Temporary {
			f.Subject = ""
		}
		if taint.Key == machineConfigTaint {
			f.Details = machineConfigState(node)
		}
		return f
	}
	f.Message += ": not a taint that Kubernetes or OpenShift sets automatically; an administrator, an operator or " +
		"the NodePool set it and must remove it"
	if taint.TimeAdded == nil {
		f.Message += " (set at an unknown time)"
	}
	f.Remedy = report.Remedy(fill.Replace("oc adm taint node NODE KEY- # if nothing requires the taint"))
	return f
}
