// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Reasons that only the diagnostics use, in addition to those of the service.
const (
	noNetworkManager    report.Reason = "NetworkManagerNotRunning"
	noOpenVSwitch       report.Reason = "OpenVSwitchNotRunning"
	bridgeUnusable      report.Reason = "BridgeUnusable"
	noDefaultRoute      report.Reason = "NoDefaultRoute"
	certificateUnusable report.Reason = "CertificateUnusable"
	otherIdentity       report.Reason = "OtherIdentity"
	driftOfServices     report.Reason = "DriftOfServices" // of kubelet, CRI-O or what they require
)

// reasonsOfChecks are the reasons of problems that the checks of a join find.
var reasonsOfChecks = map[string]report.Reason{
	"clock": report.ClockSkew, "networkmanager": noNetworkManager, "uplink": noDefaultRoute, "disk": report.DiskPressure,
	"api":       report.APIServerUnreachable,
	"node-name": otherIdentity, "other-cluster": otherIdentity, "leftovers": otherIdentity,
	"release": report.ReleaseMismatch,
}

// explanation lists the reasons of findings that a cause explains.
type explanation struct {
	cause   report.Reason
	effects []report.Reason
}

// explanations returns the known causes, the most fundamental first.
func explanations() []explanation {
	// What the cluster shows of a node that does not report its state.
	silent := []report.Reason{
		report.NodeNotReady, report.NodeTainted, report.PodNotReady, report.PodStatusUnknown, report.PodNetworkNotReady,
		report.ServingCertificateMissing,
	}
	disconnected := slices.Concat(silent, []report.Reason{report.APIServerUnreachable, report.CheckFailed})
	withoutRoute := slices.Concat(disconnected, []report.Reason{report.NodeAddressMissing})
	stopped := slices.Concat(silent, []report.Reason{report.KubeletNotRunning, report.CRIONotRunning})
	return []explanation{
		{report.ClockSkew, slices.Concat(disconnected, []report.Reason{
			certificateUnusable, report.CertificateExpiring, report.KubeletNotRunning,
		})},
		{report.HostRolledBack, slices.Concat(stopped, []report.Reason{driftOfServices, report.ReleaseMismatch})},
		{report.HostNameChanged, slices.Concat(stopped, []report.Reason{otherIdentity})},
		{noNetworkManager, slices.Concat(withoutRoute, []report.Reason{bridgeUnusable, noDefaultRoute})},
		{noOpenVSwitch, slices.Concat(stopped, withoutRoute, []report.Reason{bridgeUnusable, noDefaultRoute})},
		{bridgeUnusable, slices.Concat(withoutRoute, []report.Reason{noDefaultRoute})},
		{noDefaultRoute, withoutRoute},
		{report.NodeAddressMissing, disconnected},
		{report.APIServerUnreachable, disconnected},
		{certificateUnusable, slices.Concat(silent, []report.Reason{report.KubeletNotRunning, report.CheckFailed})},
		{report.DiskPressure, slices.Concat(silent, []report.Reason{report.ImagePullFailed})},
		{report.MemoryPressure, silent},
		{report.ReleaseMismatch, stopped},
		{driftOfServices, stopped},
		{report.RequiredUnitNotRunning, stopped},
		{report.CRIONotRunning, stopped},
		{report.KubeletNotRunning, silent},
		{report.PodNetworkNotReady, silent},
		{report.NodeNotReady, silent},
		{report.ImagePullFailed, []report.Reason{report.PodNotReady}},
	}
}

// groupByCause returns the findings in groups of a cause and its effects, the most severe group first. An effect has no
// remedy: that of the cause ends it.
func groupByCause(findings []report.Finding) []report.Finding {
	groups := make([][]report.Finding, len(findings)) // by the index of the cause
	for i := range findings {
		cause := causeOf(findings, i)
		if cause == i {
			groups[i] = slices.Insert(groups[i], 0, findings[i])
			continue
		}
		findings[i].CausedBy, findings[i].Remedy = findings[cause].Message, ""
		groups[cause] = append(groups[cause], findings[i])
	}
	groups = slices.DeleteFunc(groups, func(group []report.Finding) bool { return len(group) == 0 })
	slices.SortStableFunc(groups, func(a, b []report.Finding) int {
		return report.CompareSeverity(slices.MinFunc(a, report.CompareSeverity), slices.MinFunc(b, report.CompareSeverity))
	})
	return slices.Concat(groups...)
}

// causeOf returns the index of the most fundamental finding that explains the i-th one, i itself if there is none. Only
// a problem, or drift of the files of a service, is a cause.
func causeOf(findings []report.Finding, i int) int {
	if findings[i].Severity == report.SeverityOK || findings[i].Severity == report.SeverityNote {
		return i
	}
	for _, one := range explanations() {
		if one.cause == findings[i].Reason || !slices.Contains(one.effects, findings[i].Reason) {
			continue
		}
		for j, candidate := range findings {
			isCause := candidate.Severity == report.SeverityProblem || candidate.Reason == driftOfServices
			if isCause && candidate.Reason == one.cause {
				return causeOf(findings, j)
			}
		}
	}
	return i
}
