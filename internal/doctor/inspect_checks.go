// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// inspectHost runs the checks that a join makes before it has the payload.
func inspectHost(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	s := d.session()
	facts, err := s.HostFacts(ctx, plan.NewUplink(s), false)
	if err != nil && d.host.Units != nil {
		// If systemd no longer responds, report it as one finding and run the other checks
		// without it.
		s = d.session()
		s.Host.Units, s.Host.UnitsErr = nil, err
		facts, err = s.HostFacts(ctx, plan.NewUplink(s), false)
	}
	if err != nil {
		return nil, err
	}
	checks := preflight.HostChecks()
	if !d.host.Facts.Root {
		// Skip checks whose result would be wrong without root. The lack of root is
		// reported once.
		checks = slices.DeleteFunc(checks, func(c preflight.Check[preflight.HostFacts]) bool {
			return slices.Contains([]string{"root", "uplink", "uplink-rules", "other-cluster", "leftovers"}, c.Name)
		})
	}
	findings := resultFindings(preflight.Run(checks, facts))
	if facts.EndpointTemporary != nil { // the section validate fetches the payload with retries
		findings = append(findings, note("", "%s", facts.EndpointTemporary))
	}
	if d.run.UserData == nil && d.phase() == joinstate.PhaseNone {
		findings = append(findings, note("hcp-node-agent doctor --user-data USER_DATA",
			"the ignition server was not checked: no user data was given"))
	}
	return findings, nil
}

// inspectValidation runs the checks that a join makes with the payload: the one that
// an earlier run saved, else the one of the given user data.
func inspectValidation(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	loaded, err := payload.Get(ctx, d.run.Request, report.Log{}, d.run.SavedPayload())
	if err != nil {
		return nil, err
	}
	if loaded.Payload == nil && d.run.UserData != nil {
		if loaded, err = payload.Get(ctx, d.run.Request, report.Log{}, d.run.PayloadServer()); err != nil {
			return refusalFinding(err)
		}
	}
	if loaded.Payload == nil {
		return []report.Finding{note("hcp-node-agent doctor --user-data USER_DATA",
			"the checks that need the NodePool's payload were skipped: this host has no payload")}, nil
	}
	s := d.session()
	// The section host checks the uplink.
	s.Run.Config.Skip = append(slices.Clone(s.Run.Config.Skip), steps.Network)
	uplink, sw := plan.NewUplink(s), plan.NewSoftware(s, loaded.Payload)
	sw.LoadStored() // otherwise the release is unknown: doctor downloads no image
	built, err := s.Build(ctx, uplink, loaded.Payload)
	if err != nil {
		return refusalFinding(err)
	}
	built.RecordIn(&s.Run.State)
	validation, err := s.Validate(ctx, uplink, sw, built, report.Log{})
	if err != nil {
		return nil, err
	}
	undecided := undecidedSoftware(loaded.Payload, sw.Contents, &validation.Facts)
	findings := append(resultFindings(preflight.Run(preflight.PayloadChecks(), validation.Facts)), undecided...)
	if d.phase() != joinstate.PhaseJoined || !s.RunsPayloadImage() {
		return findings, nil
	}
	found, err := d.inspectImage(ctx, built)
	return append(findings, found...), err
}

// undecidedSoftware returns a note if the OS image of the payload may contain the binaries that are not installed, and
// removes them and their units from the facts: doctor downloads no image.
func undecidedSoftware(
	p *ignition.Payload, known *software.Contents, facts *preflight.PayloadFacts,
) []report.Finding {
	if known != nil || p.MachineConfig().OSImageURL == "" || len(facts.MissingPrograms) == 0 {
		return nil
	}
	names := lists.Map(facts.MissingPrograms, func(p preflight.Program) string { return p.Name })
	facts.MissingPrograms, facts.MissingUnits = nil, nil
	return []report.Finding{note("hcp-node-agent preflight --user-data USER_DATA",
		"not installed: %s; preflight checks whether the OS image of the payload contains them", strings.Join(names, ", "))}
}

// inspectImage inspects the deployments of a node whose image is that of its payload.
func (d *diagnostics) inspectImage(ctx context.Context, built *plan.Plan) ([]report.Finding, error) {
	deployments, err := d.host.Deployments(ctx)
	if err != nil || deployments == nil {
		return nil, err
	}
	images, err := joinstate.LoadImages(d.run.Dir)
	return imageFindings(built.OtherImage, *deployments, images.Update), err
}

// imageFindings returns a finding if the payload requires another image than the node runs, and the reasons why an
// upgrade would be refused. update is the one that the agent has staged, if any.
func imageFindings(
	other *plan.ImageUpdate, deployments deployment.Status, update *joinstate.ImageUpdate,
) []report.Finding {
	var findings []report.Finding
	if other != nil {
		findings = append(findings, problem("hcp-node-agent upgrade --user-data USER_DATA",
			"the node runs %s, but its payload requires %s", other.Booted, other.Image))
	}
	staged := ""
	if update != nil {
		staged = update.Digest
	}
	for _, found := range deployment.CheckStageable(deployments, staged) {
		findings = append(findings, warning(found.Remedy, "the next upgrade would be refused: %s", found.Message))
	}
	return findings
}

// refusalFinding converts an error that ends a join at its plan. A report.Failure
// becomes a finding; any other error means that the result is unknown and is
// returned.
func refusalFinding(err error) ([]report.Finding, error) {
	if failure := (*report.Failure)(nil); !errors.As(err, &failure) {
		return nil, err
	}
	return []report.Finding{report.RefusingFinding(err)}, nil
}

// resultFindings returns the findings of preflight checks, and one for the result if
// a join would not be refused.
func resultFindings(result preflight.Result) []report.Finding {
	for i := range result.Findings {
		if found := &result.Findings[i]; found.Severity == report.SeverityProblem {
			found.Reason = cmp.Or(found.Reason, reasonsOfChecks[found.Check])
		}
	}
	if result.Err() != nil {
		return result.Findings
	}
	return append([]report.Finding{passed("%s", result.Summary())}, result.Findings...)
}
