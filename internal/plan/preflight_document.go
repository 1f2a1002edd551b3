// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// PreflightDocument is the result of the checks that a join makes before it has the
// payload.
type PreflightDocument struct {
	report.TypeMeta
	preflight.Result
	report.CommandResult
}

// Preflight runs the checks that need no payload. Without user data, it reports that
// the ignition server was not checked. It fails if the checks cannot be run; their
// findings are in the document and in its Err.
func Preflight(ctx context.Context, options inputs.Options) (PreflightDocument, error) {
	document := PreflightDocument{TypeMeta: report.Meta("Preflight")}
	b, err := openReadOnly(ctx, options, false)
	if err != nil {
		return document, err
	}
	defer b.Close()
	log := report.Log{Sink: b.Run.Sink, Step: steps.Preflight}
	uplink := NewUplink(b.Session)
	if err := uplink.Await(ctx, log); err != nil {
		return document, err
	}
	facts, err := b.HostFacts(ctx, uplink, false)
	if err != nil {
		return document, err
	}
	facts.Endpoint = cmp.Or(facts.Endpoint, facts.EndpointTemporary) // preflight does not wait
	document.Result = preflight.Run(preflight.HostChecks(), facts).ForClass(facts.Host.Class())
	if b.ManagesPackages() {
		document.Checked++
		document.Findings = append(document.Findings, b.packageFindings(ctx)...)
	}
	if b.Run.State.Exists() { // an interrupted join may have stored the payload
		if err := b.LoadPayloadFrom(ctx, log, b.Run.SavedPayload()); err != nil {
			return document, err
		}
	}
	b.addConnections(ctx, &document.Result)
	if !b.Run.State.Exists() {
		if b.Run.Inputs.UserData == nil {
			document.Checked--
			document.Findings = append(document.Findings, uncheckedEndpoint())
		}
		options.CompleteFindings(document.Findings)
	}
	document.CommandResult = report.ResultOf(document.Err())
	return document, nil
}

// uncheckedEndpoint returns the finding of the check of the ignition server without user data.
func uncheckedEndpoint() report.Finding {
	return report.Finding{
		Check:    "endpoint",
		Severity: report.SeverityNote,
		Message:  "not checked: no user data was given (--user-data FILE)",
	}
}

// Err returns a failure if a join would be refused because of the findings, else
// nil. It counts the findings; the document contains their messages and remedies.
func (d PreflightDocument) Err() error {
	err := d.Result.Err()
	if err == nil {
		return nil
	}
	refusals := 0
	for _, finding := range d.Findings {
		if finding.RefusesJoin {
			refusals++
		}
	}
	if refusals == 1 {
		return report.Fail(report.CodeOf(err), "", "join would fail: 1 problem")
	}
	return report.Fail(report.CodeOf(err), "", "join would fail: %d problems", refusals)
}
