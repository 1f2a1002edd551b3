// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// checkCgroup refuses cgroup v1 if the payload or kubelet requires cgroup v2. From 4.14 on, payloads request it with
// systemd.unified_cgroup_hierarchy=1, except in clusters with cgroupMode v1.
func checkCgroup(f PayloadFacts) []report.Finding {
	message := "the payload requires cgroup v2, but this host was booted with cgroup v1"
	isRequested := slices.Contains(f.KernelArguments, "systemd.unified_cgroup_hierarchy=1")
	switch {
	case f.Host.CgroupV2, isRequested && f.SetsArguments:
		return nil
	case isRequested:
	case f.refusesCgroupV1():
		message = "kubelet of this release does not start with cgroup v1, with which this host was booted"
	default:
		return nil
	}
	return []report.Finding{{
		Severity: report.SeverityProblem,
		Message:  message,
		Remedy: "grubby --update-kernel=ALL --args=systemd.unified_cgroup_hierarchy=1 # then reboot this host, and run " +
			"join again",
		RefusesJoin: true,
		Code:        report.RebootNeeded,
	}}
}

// refusesCgroupV1 reports whether kubelet does not start with cgroup v1. From Kubernetes 1.35 on, failCgroupV1 of its
// configuration is true by default.
func (f PayloadFacts) refusesCgroupV1() bool {
	if f.FailCgroupV1 != nil {
		return *f.FailCgroupV1
	}
	return f.KubeletMinor >= 35
}

// checkKubeletFlags refuses flags with which kubelet would exit at each start.
func checkKubeletFlags(f PayloadFacts) []report.Finding {
	return errorIf(len(f.UnsupportedFlags) > 0,
		"# install the kubelet of the payload's release; or, if a drop-in of this host sets the flag, remove it there",
		"kubelet 1.%d does not support flags of its unit: %s", f.KubeletMinor, strings.Join(f.UnsupportedFlags, ", "))
}

func checkSwap(f PayloadFacts) []report.Finding {
	if len(f.Host.Swap) == 0 {
		return nil
	}
	devices := strings.Join(f.Host.Swap, ", ")
	if f.FailSwapOn {
		return errorFinding("swapoff -a # also remove the swap entries from /etc/fstab",
			"swap is enabled (%s); kubelet of this release does not start with swap", devices)
	}
	return warningFinding("", "swap is enabled (%s); kubelet of this release tolerates swap", devices)
}
