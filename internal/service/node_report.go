// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"context"
	"maps"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

const (
	// reportInterval is the interval of the reports while nothing changes.
	reportInterval = 10 * time.Minute
	// reportTimeout limits one report, for the watchdog of systemd.
	reportTimeout = 10 * time.Second
	// maxReasonRunes limits the reason, which is printed in tables.
	maxReasonRunes = 200
)

// nodeReport writes the state of the node to annotations of its Node.
type nodeReport struct {
	last   map[string]string // written last, without the time
	writes time.Time         // of last
	retry  time.Time         // of the next attempt after a failure
}

// write writes annotations if they have changed, or if the last report is old. A failure is tried again after a pause:
// an API server that is unreachable is a finding of its own.
func (r *nodeReport) write(
	ctx context.Context, annotations map[string]string, now time.Time,
	annotate func(context.Context, map[string]string) error,
) {
	if maps.Equal(annotations, r.last) && now.Sub(r.writes) < reportInterval || now.Before(r.retry) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	written := maps.Clone(annotations)
	written[v1alpha1.AnnotationReported] = report.Timestamp(now)
	if annotate(ctx, written) != nil {
		r.retry = now.Add(writeRetry)
		return
	}
	r.last, r.writes, r.retry = annotations, now, time.Time{}
}

// reportedFacts are the facts of a report.
type reportedFacts struct {
	state        joinstate.State
	class        hostclass.Class
	contents     *software.Contents // nil if unknown
	certificates []identity.CertificateExpiry
	active       []Change // the most severe and oldest first
	unfinished   string   // an upgrade or a maintenance in progress, "" for none
	progress     string   // what it does or awaits, "" if unknown
	attempt      joinstate.Attempt
}

// annotationsOf returns the annotations that report the state of a node, without the time.
func annotationsOf(facts reportedFacts) map[string]string {
	annotations := map[string]string{
		v1alpha1.AnnotationHostClass:     string(facts.class),
		v1alpha1.AnnotationCurrentConfig: facts.state.ConfigHash,
		v1alpha1.AnnotationAPIServer:     facts.state.APIServer,
	}
	if facts.contents != nil {
		annotations[v1alpha1.AnnotationRelease] = facts.contents.Release.String()
	}
	var expires time.Time
	for _, one := range facts.certificates {
		if expires.IsZero() || one.NotAfter.Before(expires) {
			expires = one.NotAfter
		}
	}
	if !expires.IsZero() {
		annotations[v1alpha1.AnnotationCertificateExpires] = report.Timestamp(expires)
	}
	state, reason := agentState(facts)
	annotations[v1alpha1.AnnotationState] = string(state)
	annotations[v1alpha1.AnnotationReason] = servicelog.Shorten(reason, maxReasonRunes)
	failedSlot := ""
	if facts.attempt.Failure != "" {
		failedSlot = facts.attempt.Slot
	}
	annotations[v1alpha1.AnnotationFailedSlot] = failedSlot
	annotations[v1alpha1.AnnotationBlocked] = servicelog.Shorten(facts.attempt.Blocked, maxReasonRunes)
	annotations[v1alpha1.AnnotationFailure] = servicelog.Shorten(facts.attempt.Failure, maxReasonRunes)
	return annotations
}

// agentState returns the state of the node and its nearest cause.
func agentState(facts reportedFacts) (v1alpha1.AgentState, string) {
	if facts.unfinished != "" {
		return v1alpha1.AgentUpgrading, cmp.Or(facts.progress, facts.unfinished+" is in progress")
	}
	drift := ""
	for _, change := range facts.active {
		switch {
		case change.Reason == report.ConfigurationDrift:
			drift = change.Message
		case change.Severity != report.SeverityNote:
			return v1alpha1.AgentDegraded, change.Message
		}
	}
	if drift != "" {
		return v1alpha1.AgentDrifted, drift
	}
	return v1alpha1.AgentHealthy, ""
}

// writeReport reports the state of the node to the cluster.
func (m *nodeMonitor) writeReport(ctx context.Context, active []Change) {
	m.nodeReport.write(ctx, annotationsOf(m.reportedFacts(active)), time.Now(), m.node.Annotate)
}

func (m *nodeMonitor) reportedFacts(active []Change) reportedFacts {
	contents, _ := joinstate.LoadSoftware(m.StateDir) // an unreadable file is a finding of checkRelease
	attempt, err := joinstate.LoadAttempt(m.StateDir)
	if err != nil {
		m.log.Note(err.Error())
	}
	facts := reportedFacts{
		state: m.state, class: m.class, contents: contents,
		certificates: identity.CertificateExpiries(m.pkiDir),
		active:       active, unfinished: m.unfinished, attempt: attempt,
	}
	if m.rollout.isRunning() && m.rollout.isUpgrade {
		facts.unfinished, facts.progress = upgradeRun, m.rollout.progress.get()
	}
	return facts
}
