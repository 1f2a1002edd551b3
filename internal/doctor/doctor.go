// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// Report contains all findings, the most severe first, each followed by its effects.
type Report struct {
	report.TypeMeta
	Time                 time.Time        `json:"time" doc:"start of the diagnostics"`
	Hostname             string           `json:"hostname" doc:"hostname"`
	NodeName             string           `json:"nodeName,omitempty" doc:"name of the Node; absent before the step plan"`
	Phase                joinstate.Phase  `json:"phase" doc:"state of this host as a node"`
	Findings             []report.Finding `json:"findings" doc:"all findings, the most severe first; the effects of a cause follow it"`
	report.CommandResult                  // of the findings
}

// Run runs the diagnostics of this host and changes nothing. The host may have
// joined, have a join in progress, or not have joined. Run fails if the diagnostics
// are interrupted. The outcome of the findings is in the Err of the report.
func Run(ctx context.Context, options request.Options) (Report, error) {
	d, opened := openDiagnostics(ctx, options)
	defer d.host.Close()
	document := Report{
		TypeMeta: report.Meta("DoctorReport"),
		Time:     time.Now().UTC(),
		Hostname: d.host.Facts.Hostname,
		NodeName: d.run.State.NodeName,
		Phase:    d.phase(),
	}
	run := func(part section) []report.Finding { return part.run(ctx, d) }
	findings := slices.Concat(opened, runSections(sections(), run))
	if !d.run.State.Exists() && d.stateErr == nil {
		options.CompleteFindings(findings)
	}
	if d.host.Facts.Capabilities().HasImage {
		for i := range findings {
			findings[i].Remedy = findings[i].Remedy.ForImageMode()
		}
	}
	if document.Phase == joinstate.PhaseJoined {
		findings = changesFirst(findings)
	}
	document.Findings = groupByCause(sortFindings(withoutUsualErrors(findings)))
	document.CommandResult = report.ResultOf(document.Err())
	if err := ctx.Err(); err != nil {
		return document, report.ExplainInterruption(ctx, err)
	}
	return document, nil
}

// Err returns the failure that results from the findings, nil if there is no
// problem. Its code is Failed if a problem affects the node now, else Refused if a
// join would be refused.
func (r Report) Err() error {
	now, refusals := 0, 0
	for _, finding := range r.Findings {
		switch {
		case finding.Severity != report.SeverityProblem:
		case finding.RefusesJoin:
			refusals++
		default:
			now++
		}
	}
	switch {
	case now > 0:
		return report.Fail(report.Failed, "", "problems that affect the node: %d", now+refusals)
	case refusals > 0:
		return report.Fail(report.Refused, "", "a join would be refused; problems: %d", refusals)
	}
	return nil
}
