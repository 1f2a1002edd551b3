// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
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
func Preflight(ctx context.Context, options request.Options) (PreflightDocument, error) {
	document := PreflightDocument{TypeMeta: report.Meta("Preflight")}
	t, err := openTarget(ctx, options, request.UserDataOptional)
	if err != nil {
		return document, err
	}
	defer t.close()
	s := t.session
	log := report.Log{Sink: s.Run.Sink, Step: steps.Preflight}
	uplink := plan.NewUplink(s)
	if err := uplink.Await(ctx, log); err != nil {
		return document, err
	}
	facts, err := s.HostFacts(ctx, uplink, false)
	if err != nil {
		return document, err
	}
	facts.Endpoint = cmp.Or(facts.Endpoint, facts.EndpointTemporary) // preflight does not wait
	document.Result = preflight.Run(preflight.HostChecks(), facts).ForClass(facts.Host.Class())
	if s.ManagesPackages() {
		document.Checked++
		document.Findings = append(document.Findings, packageFindings(ctx, plan.NewSoftware(s, nil))...)
	}
	var saved payload.Loaded
	if s.Run.State.Exists() { // an interrupted join may have stored the payload
		if saved, err = payload.Get(ctx, s.Run.Request, log, s.Run.SavedPayload()); err != nil {
			return document, err
		}
	}
	overlaps, err := checkNetworks(s, uplink, saved.Payload)
	if err != nil {
		return document, err
	}
	document.Checked++
	document.Findings = append(document.Findings, overlaps.Findings...)
	addConnections(ctx, s, saved.Payload, &document.Result)
	if !s.Run.State.Exists() {
		if s.Run.UserData == nil {
			document.Checked--
			document.Findings = append(document.Findings, uncheckedEndpoint())
		}
		options.CompleteFindings(document.Findings)
	}
	document.CommandResult = report.ResultOf(document.Err())
	return document, nil
}

// checkNetworks checks the networks of this host against those of the cluster. The payload is nil if it was not loaded.
func checkNetworks(s *plan.Session, uplink *plan.Uplink, loaded *ignition.Payload) (preflight.Result, error) {
	facts, err := s.NetworkFacts(uplink, loaded)
	if err != nil {
		return preflight.Result{}, err
	}
	return preflight.Run([]preflight.Check[preflight.NetworkFacts]{preflight.NetworkCheck()}, facts), nil
}

// packageFindings returns the problems and warnings about packages for the preflight command.
func packageFindings(ctx context.Context, sw *plan.Software) []report.Finding {
	decision, err := sw.Decide(ctx, nil, kube.Version{})
	found := slices.Concat(decision.Findings, decision.Mismatches)
	if err != nil {
		refused := report.RefusingFinding(err)
		refused.Code = report.Refused
		refused.Remedy = cmp.Or(refused.Remedy, "dnf makecache # connects to all enabled repositories, and prints which fail")
		found = []report.Finding{refused}
	}
	found = slices.DeleteFunc(found, func(f report.Finding) bool { return f.Severity == report.SeverityNote })
	for i := range found {
		found[i].Check = "packages"
	}
	return found
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
