// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// maxClockSkew is the maximum clock difference, the same limit as in preflight.
const maxClockSkew = 2 * time.Minute

// diagnose returns the problems of the Node, the most direct cause first. The
// list is empty if the Node is Ready and schedulable.
func diagnose(f facts) []report.Finding {
	ready := f.node != nil && kube.IsReady(f.node) && f.isCurrentBoot() && !f.isStale
	var reasons []report.Finding
	if f.node != nil {
		reasons = unschedulableFindings(f.node, f.requestedTaints)
	}
	if ready && len(reasons) == 0 {
		return nil
	}
	all := slices.Concat(lists.Map(f.hostState.units, unitFinding), runtimeFinding(f.hostState), clockFinding(f))
	severity := report.SeverityWarning
	var namedPod *pods.Problem
	problems := pods.Problems(f.pods, f.evidence())
	if !ready {
		severity = report.SeverityProblem
		var state []report.Finding
		state, namedPod = f.readinessFindings(problems)
		all = append(all, state...)
	}
	all = append(all, pressureFindings(f)...)
	all = append(all, reasons...)
	for _, problem := range problems {
		if problem != namedPod && (problem.CauseKnown || !ready) {
			all = append(all, problem.Finding(severity))
		}
	}
	if f.node != nil {
		all = append(all, preferNoScheduleFindings(f.node)...)
	}
	return all
}

// isCurrentBoot reports whether the Node's status was reported since the current
// boot. A Node from an earlier join can still be Ready.
func (f facts) isCurrentBoot() bool {
	return f.bootID == "" || f.node.Status.NodeInfo.BootID == f.bootID
}

func clockFinding(f facts) []report.Finding {
	if f.clockOffset.Abs() <= maxClockSkew {
		return nil
	}
	how := "ahead of"
	if f.clockOffset < 0 {
		how = "behind"
	}
	return []report.Finding{{
		Severity: report.SeverityProblem,
		Reason:   report.ClockSkew,
		Subject:  "the clock",
		Message: fmt.Sprintf("this host's clock is %s %s the API server's; certificates and leases are not valid",
			f.clockOffset.Abs().Round(time.Minute), how),
		Remedy: "chronyc makestep # or: timedatectl set-ntp true",
	}}
}

// readinessFindings returns why the Node is not Ready or does not exist. namedPod is the pod
// that the findings name as the cause.
func (f facts) readinessFindings(problems []*pods.Problem) (all []report.Finding, namedPod *pods.Problem) {
	const journal = "journalctl -u kubelet -b"
	cause, remedy := servicelog.Explain(f.hostState.recentErrors)
	if remedy == "" {
		remedy = journal
	}
	finding := report.Finding{
		Severity: report.SeverityProblem,
		Reason:   report.NodeNotReady,
		Remedy:   remedy,
		Details:  servicelog.Format(servicelog.Last(f.hostState.recentErrors, 5)...),
	}
	if f.deleted {
		gone := DeletedFinding(f.name)
		gone.Message, gone.Details = gone.Message+cause, finding.Details
		return []report.Finding{gone}, nil
	}
	if f.node == nil {
		finding.Reason = report.NodeNotRegistered
		finding.Message, finding.Temporary = "kubelet has not registered Node "+f.name+" yet"+cause, cause == ""
		return []report.Finding{finding}, nil
	}
	ready := kube.NodeCondition(f.node, corev1.NodeReady)
	switch {
	case !f.isCurrentBoot() && f.node.Status.NodeInfo.BootID != "":
		finding.Message = fmt.Sprintf("the cluster still has the Node of another boot (%s, this boot is %s): "+
			"kubelet has not reported its status yet, or another machine uses the same name",
			f.node.Status.NodeInfo.BootID, f.bootID) + cause
	case ready == nil, !f.isCurrentBoot(), f.isStale:
		finding.Message, finding.Temporary = "kubelet has not reported its status yet"+cause, cause == ""
	case ready.Status == corev1.ConditionUnknown:
		finding.Message = fmt.Sprintf("kubelet has not reported its status since %s (%s)",
			report.Timestamp(ready.LastHeartbeatTime.Time), ready.Reason) + cause
	case isNetworkMissing(f.node):
		return f.networkFindings(problems)
	default:
		finding = f.conditionFinding(ready)
	}
	return []report.Finding{finding}, nil
}

// DeletedFinding returns the finding for a Node that existed and does not exist any more.
func DeletedFinding(name string) report.Finding {
	return report.Finding{
		Severity: report.SeverityProblem,
		Reason:   report.NodeDeleted,
		Subject:  "the Node",
		Message:  "Node " + name + " was deleted from the cluster; kubelet registers it again only after a restart",
		Remedy:   "hcp-node-agent join # restarts kubelet",
	}
}

// conditionFinding returns the finding for the Ready condition that kubelet reports.
// Network problems are handled elsewhere.
func (f facts) conditionFinding(ready *corev1.NodeCondition) report.Finding {
	finding := report.Finding{
		Severity: report.SeverityProblem,
		Reason:   report.NodeNotReady,
		Remedy:   "journalctl -u kubelet -b",
		Details:  servicelog.Format(ready.Message),
		Message:  ready.Reason + ": " + servicelog.Shorten(ready.Message, servicelog.MaxExcerpt),
	}
	switch message := ready.Message; {
	case strings.Contains(message, "PLEG is not healthy"):
		finding.Message = "CRI-O does not respond to kubelet's requests about its containers (PLEG is not " +
			"healthy): CRI-O hangs, or the disk is too slow"
		finding.Remedy = "crictl ps; journalctl -b -u crio; vmstat 1 3"
	case strings.Contains(message, "container runtime is down"),
		strings.Contains(message, "container runtime status check may not have completed yet"):
		finding.Message = "kubelet is not connected to CRI-O yet (" +
			servicelog.Shorten(message, servicelog.MaxExcerpt) + ")"
		finding.Remedy = "systemctl status crio; journalctl -b -u crio"
	case strings.Contains(message, "CSINode is not yet initialized"):
		finding.Message, finding.Temporary = "kubelet has not created its CSINode yet; it needs the API server "+
			"for that", true
	case strings.Contains(message, "missing node capacity"):
		finding.Message, finding.Temporary = "kubelet has not measured this machine's capacity yet ("+
			servicelog.Shorten(message, servicelog.MaxExcerpt)+")", true
	}
	if c, _, known := servicelog.FindCause([]string{ready.Message}, servicelog.HostCauses); known {
		finding.Message, finding.Remedy = "kubelet is not healthy: "+c.Text, c.Remedy
	}
	return finding
}

// pressureFindings returns findings for the other conditions, with current figures.
func pressureFindings(f facts) []report.Finding {
	var all []report.Finding
	if f.node == nil {
		return nil
	}
	for _, kind := range []corev1.NodeConditionType{
		corev1.NodeMemoryPressure, corev1.NodeDiskPressure,
		corev1.NodePIDPressure, corev1.NodeNetworkUnavailable,
	} {
		if c := kube.NodeCondition(f.node, kind); c != nil && c.Status == corev1.ConditionTrue {
			all = append(all, pressureFinding(c, f.hostState, f.name))
		}
	}
	return all
}

// pressureFinding returns the finding for one abnormal condition. The limits are
// kubelet's defaults (pkg/kubelet/eviction), which a KubeletConfig can change.
func pressureFinding(c *corev1.NodeCondition, m hostFacts, node string) report.Finding {
	f := report.Finding{
		Severity: report.SeverityProblem,
		Subject:  string(c.Type),
		Details:  servicelog.Format(c.Reason + ": " + c.Message),
	}
	switch c.Type {
	case corev1.NodeDiskPressure:
		f.Reason = report.DiskPressure
		f.Message = "kubelet evicts pods because a disk is nearly full: " +
			cmp.Or(describeDisks(m.disks), "the affected file system is unknown") +
			"; kubelet requires 10 % free space on its own file system, 15 % on CRI-O's, and 5 % free inodes"
		f.Remedy = "crictl rmi --prune; du -xsh /var/lib/containers /var/lib/kubelet /var/log"
	case corev1.NodeMemoryPressure:
		f.Reason = report.MemoryPressure
		free := "the amount of free memory is unknown"
		if m.totalKiB > 0 {
			free = fmt.Sprintf("%d MiB of %d MiB are free", m.availableKiB>>10, m.totalKiB>>10)
		}
		f.Message = "kubelet evicts pods because memory is short: " + free + "; kubelet requires 100 MiB"
		f.Remedy = "free -m; ps -eo rss,args --sort=-rss | head"
	case corev1.NodePIDPressure:
		f.Reason = report.PIDPressure
		f.Message = "kubelet evicts pods because the node is running out of process IDs"
		if m.maxTasks > 0 {
			f.Message += fmt.Sprintf(": %d processes and threads of %d", m.tasks, m.maxTasks)
		}
		f.Remedy = "ps -eLo pid,args | sort | uniq -c | sort -rn | head; sysctl kernel.pid_max"
	default:
		f.Reason = report.NetworkUnavailable
		f.Message = fmt.Sprintf("%s (%s: %s): the network plugin or a route controller sets this condition and "+
			"clears it",
			c.Type, c.Reason, servicelog.Shorten(c.Message, servicelog.MaxExcerpt))
		f.Remedy = report.Remedy("oc get pods -A -o wide --field-selector spec.nodeName=" + node)
	}
	return f
}

// describeDisks describes the free space of each file system once.
func describeDisks(all []hostinfo.Usage) string {
	var texts []string
	seen := map[hostinfo.Usage]bool{}
	for _, usage := range all {
		same := usage
		same.Path = ""
		if seen[same] || usage.Size == 0 {
			continue
		}
		seen[same] = true
		text := fmt.Sprintf("%s has %s of %s free (%d %%)", usage.Path, formatGiB(usage.Free), formatGiB(usage.Size),
			usage.Free*100/usage.Size)
		if usage.Inodes > 0 {
			text += fmt.Sprintf(" and %d %% of its inodes", usage.Unused*100/usage.Inodes)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func formatGiB(bytes uint64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }
