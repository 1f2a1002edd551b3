package bootstrap

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// examineHost runs the checks that a join makes before it has the payload.
func examineHost(ctx context.Context, p *patient) ([]DoctorFinding, error) {
	var said notes
	facts, err := p.hostFacts(ctx, report.Log{Sink: &said})
	if err != nil && p.systemd != nil {
		// If systemd no longer responds, report it as one finding and run the other checks
		// without it.
		j, m := *p.join, *p.machine
		m.systemd, m.noBus, j.machine = nil, err, &m
		facts, err = j.hostFacts(ctx, report.Log{Sink: &said})
	}
	if err != nil {
		return nil, err
	}
	checks := preflight.Host()
	if !p.facts.Root {
		// Skip checks whose result would be wrong without root. The lack of root is
		// reported once.
		checks = slices.DeleteFunc(checks, func(c preflight.Check[preflight.HostFacts]) bool {
			return slices.Contains([]string{"root", "uplink", "other-cluster"}, c.Name)
		})
	}
	findings := checked(preflight.Run(checks, facts))
	for _, text := range said {
		findings = append(findings, DoctorFinding{Severity: report.SeverityNote, Text: text})
	}
	if p.inputs.stub == nil && p.phase() == "none" {
		findings = append(findings, DoctorFinding{
			Severity: report.SeverityNote, Text: "the ignition server was not asked: there is no user-data stub", Remedy: "hcp-node-agent doctor --user-data stub.ign",
		})
	}
	return findings, nil
}

// examineAdmission runs the checks that a join makes with the payload: the one that
// an earlier run saved, else the one of the given user data.
func examineAdmission(ctx context.Context, p *patient) ([]DoctorFinding, error) {
	j, err := p.withPayload(ctx)
	if err != nil {
		return nil, err
	}
	if j == nil && p.inputs.stub != nil {
		if j, err = p.fetched(ctx); err != nil {
			return refusal(err)
		}
	}
	if j == nil {
		return []DoctorFinding{{
			Severity: report.SeverityNote, Text: "the checks that need the NodePool's payload were skipped: this host has none",
			Remedy: "hcp-node-agent doctor --user-data stub.ign",
		}}, nil
	}
	if err := j.adapt(ctx); err != nil {
		return refusal(err)
	}
	if err := j.learn(); err != nil {
		return refusal(err)
	}
	facts, err := j.admissionFacts(ctx, report.Log{})
	if err != nil {
		return nil, err
	}
	return checked(preflight.Run(preflight.Admission(), facts)), nil
}

// refusal converts an error that ends a join at its plan. A report.Failure
// becomes a finding; any other error means that the result is unknown and is
// returned.
func refusal(err error) ([]DoctorFinding, error) {
	var failure *report.Failure
	if !errors.As(err, &failure) {
		return nil, err
	}
	return []DoctorFinding{{Severity: report.SeverityProblem, Text: err.Error(), Remedy: report.Remedy(failure.Remedy), Refuses: true}}, nil
}

// withPayload returns a copy of the operation with the saved payload, or nil if
// there is none.
func (p *patient) withPayload(ctx context.Context) (*join, error) {
	payload, err := p.keptPayload()
	if err != nil || payload == nil {
		return nil, err
	}
	return p.overlaid(ctx, payload)
}

// fetched returns a copy of the operation with the current payload of
// the ignition server. It saves nothing.
func (p *patient) fetched(ctx context.Context) (*join, error) {
	fetcher := p.fetcher(report.Log{})
	fetcher.Budget = 10 * time.Second // of the 30 seconds of this section
	payload, err := fetcher.Fetch(ctx, p.inputs.stub)
	if err != nil {
		return nil, err
	}
	return p.overlaid(ctx, payload)
}

// overlaid returns a copy of the operation with the payload and the overrides
// merged over it.
func (p *patient) overlaid(ctx context.Context, payload *ignition.Payload) (*join, error) {
	j := *p.join
	j.inputs.overrides = slices.Clone(j.inputs.overrides) // applyOverrides changes the slice
	var err error
	j.payload, err = j.overridden(ctx, payload, report.Log{})
	return &j, err
}

// checked converts the findings of preflight checks.
func checked(result preflight.Result) []DoctorFinding {
	var findings []DoctorFinding
	if result.Err() == nil {
		findings = append(findings, DoctorFinding{Severity: report.SeverityOK, Text: result.Summary()})
	}
	for _, found := range result.Findings {
		finding := DoctorFinding{Severity: report.SeverityWarning, Text: found.Message, Remedy: found.Remedy}
		if found.Severity != preflight.Warning {
			finding.Severity, finding.Refuses = report.SeverityProblem, true
		}
		findings = append(findings, finding)
	}
	return findings
}

// notes collects the notes and warnings that are logged while facts are
// gathered.
type notes []string

// Emit collects the message of the event if the event is a note or warning.
func (n *notes) Emit(event report.Event) {
	if event.Kind == report.Note || event.Kind == report.Warning {
		*n = append(*n, event.Message)
	}
}
