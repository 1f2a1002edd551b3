// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

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
