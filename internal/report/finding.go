// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Finding is one result of a check of the host or of its Node.
type Finding struct {
	Check       string   `json:"check" doc:"name of the check"`
	Severity    Severity `json:"severity" doc:"severity of the finding"`
	Message     string   `json:"message" doc:"finding; further lines have details"`
	Remedy      Remedy   `json:"remedy,omitempty" doc:"how to resolve the finding"`
	CausedBy    string   `json:"causedBy,omitempty" doc:"message of the finding of which this one is an effect; an effect has no remedy"`
	RefusesJoin bool     `json:"refusesJoin,omitempty" doc:"whether a join would be refused because of the finding"`

	// Code is the exit code if the finding refuses a join. 0 stands for Refused.
	Code Code `json:"-"`
	// Reason names the kind of problem. Only findings about a joined node have one.
	Reason Reason `json:"-"`
	// Subject is the affected object in two or three words. It is the same in
	// repeated checks, and "" if a summary of several findings need not list it.
	Subject string `json:"-"`
	// Details are the messages of other programs that Message summarizes, with secrets
	// masked.
	Details []string `json:"-"`
	// Incomplete means that the check could not run completely because of this finding:
	// other findings may be missing.
	Incomplete bool `json:"-"`
	// Temporary means that the finding usually disappears within seconds.
	Temporary bool `json:"-"`
}

// Findingf returns a finding with a formatted message.
func Findingf(severity Severity, remedy Remedy, format string, args ...any) Finding {
	return Finding{Severity: severity, Remedy: remedy, Message: fmt.Sprintf(format, args...)}
}

// Refusalf returns a problem with a formatted message because of which a join is refused.
func Refusalf(remedy Remedy, format string, args ...any) Finding {
	finding := Findingf(SeverityProblem, remedy, format, args...)
	finding.RefusesJoin = true
	return finding
}

// RefusingFinding returns a finding with the message, remedy and exit code of an error that refuses
// a join.
func RefusingFinding(err error) Finding {
	return Finding{
		Severity:    SeverityProblem,
		Message:     err.Error(),
		Remedy:      RemedyOf(err),
		RefusesJoin: true,
		Code:        CodeOf(err),
	}
}

// Refusal returns the failure for all findings that refuse a join, with their messages
// and remedies. It returns nil if there are none. The exit code is that of the findings
// if it is the same for all, else Refused.
func Refusal(findings []Finding) error {
	var causes []Problem
	code := Success
	for _, finding := range findings {
		if !finding.RefusesJoin {
			continue
		}
		causes = append(causes, Problem{finding.Message, finding.Remedy})
		if own := cmp.Or(finding.Code, Refused); code == Success {
			code = own
		} else if code != own {
			code = Refused
		}
	}
	return FailWith(code, causes)
}

// CountFindings returns the number of findings of each severity but OK, in the form
// "1 problem, 2 warnings". It returns "" if there are none. Effects are counted separately, as "3 effects".
func CountFindings(findings []Finding) string {
	count := map[string]int{}
	for _, finding := range findings {
		count[finding.label()]++
	}
	var counts []string
	for _, label := range []string{string(SeverityProblem), effectLabel, string(SeverityWarning), string(SeverityNote)} {
		switch n := count[label]; {
		case n == 1:
			counts = append(counts, "1 "+label)
		case n > 1:
			counts = append(counts, fmt.Sprintf("%d %ss", n, label))
		}
	}
	return strings.Join(counts, ", ")
}

const effectLabel = "effect"

// label returns the severity in a list for people, or that the finding is an effect of the one above.
func (f Finding) label() string {
	if f.CausedBy != "" {
		return effectLabel
	}
	return string(f.Severity)
}

// CompareSeverity orders findings by severity, the most severe first.
func CompareSeverity(a, b Finding) int {
	return cmp.Compare(slices.Index(severities(), a.Severity), slices.Index(severities(), b.Severity))
}

// Severity is the severity of a finding about a host or its node.
type Severity string

// The severities, most severe first.
const (
	SeverityProblem Severity = "problem" // refuses a join, or impairs the node now
	SeverityWarning Severity = "warning" // needs attention
	SeverityNote    Severity = "note"    // informational
	SeverityOK      Severity = "ok"      // no problem
)

// Enum returns all severities.
func (Severity) Enum() []string { return schema.Strings(severities()...) }

// severities returns all severities, most severe first.
func severities() []Severity {
	return []Severity{SeverityProblem, SeverityWarning, SeverityNote, SeverityOK}
}

// Reason names the kind of problem of a finding about a joined node. It is the reason of the
// Events and a label of the metrics, so a value must not change. docs/day-2.md explains each.
type Reason string

// The reasons of findings.
const (
	APIServerMoved            Reason = "APIServerMoved"
	APIServerUnreachable      Reason = "APIServerUnreachable"
	CertificateExpiring       Reason = "CertificateExpiring"
	CheckFailed               Reason = "CheckFailed"
	ClientCAExpired           Reason = "ClientCAExpired"
	ClientCAExpiring          Reason = "ClientCAExpiring"
	ClientCAOutdated          Reason = "ClientCAOutdated"
	ClockSkew                 Reason = "ClockSkew"
	ClusterCANotTrusted       Reason = "ClusterCANotTrusted"
	ClusterCAObsolete         Reason = "ClusterCAObsolete"
	ConfigurationDrift        Reason = "ConfigurationDrift"
	CRIONotRunning            Reason = "CRIONotRunning"
	DiskPressure              Reason = "DiskPressure"
	HostNameChanged           Reason = "HostNameChanged"
	HostRolledBack            Reason = "HostRolledBack"
	ImagePullFailed           Reason = "ImagePullFailed"
	KubeletNotRunning         Reason = "KubeletNotRunning"
	MemoryPressure            Reason = "MemoryPressure"
	NetworkUnavailable        Reason = "NetworkUnavailable"
	NewAPIServerUnusable      Reason = "NewAPIServerUnusable"
	NodeAddressChanged        Reason = "NodeAddressChanged"
	NodeAddressMissing        Reason = "NodeAddressMissing"
	NodeCordoned              Reason = "NodeCordoned"
	NodeDeleted               Reason = "NodeDeleted"
	NodeNotReady              Reason = "NodeNotReady"
	NodeNotRegistered         Reason = "NodeNotRegistered"
	NodeTainted               Reason = "NodeTainted"
	PathMTUTooSmall           Reason = "PathMTUTooSmall"
	PIDPressure               Reason = "PIDPressure"
	PodNetworkNotReady        Reason = "PodNetworkNotReady"
	PodNotReady               Reason = "PodNotReady"
	PodStatusUnknown          Reason = "PodStatusUnknown"
	PodSubnetMissing          Reason = "PodSubnetMissing"
	PullSecretInvalid         Reason = "PullSecretInvalid"
	PullSecretOutdated        Reason = "PullSecretOutdated"
	RegistryCredentialMissing Reason = "RegistryCredentialMissing"
	ReleaseMismatch           Reason = "ReleaseMismatch"
	RequiredUnitNotRunning    Reason = "RequiredUnitNotRunning"
	ServingCertificateMissing Reason = "ServingCertificateMissing"
	TrustBundleOutdated       Reason = "TrustBundleOutdated"
	UpdateNotRunning          Reason = "UpdateNotRunning"
	UpgradeBlocked            Reason = "UpgradeBlocked"
)
