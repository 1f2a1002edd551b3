// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"fmt"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// agentReport contains what the agent of a node has reported in annotations of its Node. A user of the node's
// credential can report anything, so only the status of that node depends on it.
type agentReport struct {
	at                 time.Time // by the clock of the node, zero if there is no report
	state              v1alpha1.AgentState
	reason             string
	release            string
	config             string
	hostClass          string
	certificateExpires time.Time // zero if unknown
	failure            string    // why the last upgrade failed, "" if it did not
}

// reportedWord matches the words that are copied from a report.
var reportedWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$`)

// reportOf returns the report of the agent, without what is not valid. A nil node has none.
func reportOf(node *corev1.Node) agentReport {
	if node == nil {
		return agentReport{}
	}
	word := func(key string) string {
		if value := node.Annotations[key]; reportedWord.MatchString(value) {
			return value
		}
		return ""
	}
	text := func(key string) string {
		return report.EscapeLine(report.Shorten(node.Annotations[key], maxReportedLength))
	}
	timestamp := func(key string) time.Time {
		value, err := time.Parse(time.RFC3339, node.Annotations[key])
		if year := value.UTC().Year(); err != nil || year < 1970 || year > 9999 { // a status needs four digits
			return time.Time{}
		}
		return value
	}
	r := agentReport{
		at:                 timestamp(v1alpha1.AnnotationReported),
		state:              v1alpha1.AgentState(word(v1alpha1.AnnotationState)),
		reason:             text(v1alpha1.AnnotationReason),
		release:            word(v1alpha1.AnnotationRelease),
		config:             word(v1alpha1.AnnotationCurrentConfig),
		hostClass:          word(v1alpha1.AnnotationHostClass),
		certificateExpires: timestamp(v1alpha1.AnnotationCertificateExpires),
	}
	if node.Annotations[v1alpha1.AnnotationFailedSlot] != "" {
		r.failure = cmp.Or(text(v1alpha1.AnnotationFailure), "no reason is reported")
	}
	return r
}

const (
	// maxReportedLength limits a text of a report. Escaped, it is within maxMessageLength.
	maxReportedLength = 200
	// reportLifetime is the age at which a report is old. Agents report every 10 minutes.
	reportLifetime = 30 * time.Minute
	// maxUpgradeOutage is how long a node that is being upgraded may be not Ready. It can reboot twice.
	maxUpgradeOutage = 30 * time.Minute
	// certificateWarning is the time before the expiry of a certificate at which it is reported. Kubelet renews a
	// certificate much earlier.
	certificateWarning = 72 * time.Hour
)

// copyReport copies a report to a status. What an agent does not report remains.
func copyReport(status *v1alpha1.NodeEnrollmentStatus, r agentReport, c *clock) {
	status.Release = cmp.Or(r.release, status.Release)
	status.ConfigHash = cmp.Or(r.config, status.ConfigHash)
	status.HostClass = cmp.Or(r.hostClass, status.HostClass)
	if !r.certificateExpires.IsZero() {
		status.CertificateExpires = setTime(r.certificateExpires)
	}
	switch {
	case r.at.IsZero():
	case c.hasReached(r.at):
		status.LastReport = setTime(r.at)
	default: // the clock of the node is ahead
		status.LastReport = setTime(c.now)
	}
}

// phaseOfReady returns the phase of a node that is Ready.
func (r agentReport) phaseOfReady(c *clock) (v1alpha1.Phase, string) {
	switch {
	case r.state == v1alpha1.AgentUpgrading:
		return v1alpha1.PhaseUpgrading, r.reason
	case r.failure != "":
		return v1alpha1.PhaseFailed, "the upgrade failed: " + r.failure
	case r.state == v1alpha1.AgentDrifted:
		return v1alpha1.PhaseDrifted, r.reason
	case r.state == v1alpha1.AgentDegraded:
		return v1alpha1.PhaseDegraded, r.reason
	case !r.at.IsZero() && c.hasReached(r.at.Add(reportLifetime)):
		return v1alpha1.PhaseReady, "the agent has not reported since " + report.Timestamp(r.at)
	}
	return v1alpha1.PhaseReady, r.reason
}

// diagnosis returns the problem that a recent report has found on the host, "" for none. What kubelet reports is often
// an effect of it.
func (r agentReport) diagnosis(c *clock) string {
	if r.state != v1alpha1.AgentDegraded || r.at.IsZero() || c.hasReached(r.at.Add(reportLifetime)) {
		return ""
	}
	return r.reason
}

// isUpgradeOutage reports whether a node that is not Ready can be so because of its upgrade.
func (r agentReport) isUpgradeOutage(node *corev1.Node, c *clock) bool {
	ready := kube.NodeCondition(node, corev1.NodeReady)
	return r.state == v1alpha1.AgentUpgrading && ready != nil &&
		!c.hasReached(ready.LastTransitionTime.Add(maxUpgradeOutage))
}

// condition is a condition without its type.
type condition struct {
	status          metav1.ConditionStatus
	reason, message string
}

// drift returns the condition Drifted.
func (r agentReport) drift() condition {
	switch r.state {
	case v1alpha1.AgentDrifted:
		return condition{metav1.ConditionTrue, "HostDiffers", r.reason}
	case "":
		return condition{metav1.ConditionUnknown, reasonNoReport, "the agent has not reported"}
	}
	return condition{metav1.ConditionFalse, "HostMatches", ""}
}

// reasonNoReport is the reason of the conditions that depend on the agent, if it has not reported.
const reasonNoReport = "NoReport"

// upToDate returns the condition UpToDate. published is the metadata of the Secret with the user data, nil if there is
// none.
func (r agentReport) upToDate(published *metav1.PartialObjectMetadata) condition {
	switch {
	case r.config == "":
		return condition{metav1.ConditionUnknown, reasonNoReport, "the agent has not reported its configuration"}
	case published == nil:
		return condition{metav1.ConditionUnknown, "NotPublished", "the user data of the NodePool is not published"}
	}
	pool := v1alpha1.StateOfPublished(published)
	if r.config == pool.Config {
		return condition{metav1.ConditionTrue, "SameConfiguration", ""}
	}
	return condition{metav1.ConditionFalse, "OtherConfiguration", fmt.Sprintf(
		"the node has configuration %s (release %s), the NodePool has %s (release %s)",
		r.config, cmp.Or(r.release, "unknown"), pool.Config, cmp.Or(pool.Release, "unknown"))}
}

// expiring returns the condition CertificateExpiring.
func (r agentReport) expiring(c *clock) condition {
	end := r.certificateExpires
	switch {
	case end.IsZero():
		return condition{metav1.ConditionUnknown, reasonNoReport, "the agent has not reported the expiry"}
	case c.hasReached(end):
		return condition{metav1.ConditionTrue, "Expired", "a certificate expired at " + report.Timestamp(end)}
	case c.hasReached(end.Add(-certificateWarning)):
		return condition{metav1.ConditionTrue, "ExpiresSoon", "a certificate expires at " + report.Timestamp(end)}
	}
	return condition{metav1.ConditionFalse, "Valid", ""}
}
