// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// section is one section of the diagnostics. It has its own time limit, and its
// failure does not affect other sections.
type section struct {
	name      string
	timeout   time.Duration
	needsJoin bool // run only if a join was started, and no leave is in progress
	needsRoot bool // run only as root
	needsAPI  bool // run only if the API server responds
	check     func(ctx context.Context, d *diagnostics) ([]report.Finding, error)
}

// hostSection is the name of the section with the checks of preflight, and of findings about the diagnostics.
const hostSection = "host"

// sections returns the sections in the order of a join.
func sections() []section {
	return []section{
		{name: "join", timeout: 10 * time.Second, check: inspectJoin},
		{name: apiServerSection, timeout: 15 * time.Second, needsJoin: true, needsRoot: true, check: inspectAPIServer},
		{name: hostSection, timeout: 45 * time.Second, check: inspectHost},
		{name: steps.Validate, timeout: 30 * time.Second, check: inspectValidation},
		{name: "units", timeout: 20 * time.Second, check: inspectUnits},
		// Open vSwitch responds only to root, and would seem not to run.
		{name: steps.Network, timeout: 30 * time.Second, needsRoot: true, check: inspectBridge},
		{name: "paths", timeout: 40 * time.Second, needsJoin: true, needsRoot: true, check: inspectPaths},
		{name: "identity", timeout: 10 * time.Second, needsRoot: true, check: inspectHostChanges},
		{name: "leftovers", timeout: 20 * time.Second, check: inspectLeftovers},
		{name: "drift", timeout: time.Minute, check: inspectDrift},
		{name: "certificates", timeout: 10 * time.Second, needsJoin: true, check: inspectCertificates},
		{name: "request", timeout: 20 * time.Second, needsJoin: true, needsAPI: true, check: inspectRequest},
		{
			name: steps.ServingCertificate, timeout: 20 * time.Second,
			needsJoin: true, needsRoot: true, needsAPI: true, check: inspectServing,
		},
		{name: journalSection, timeout: 30 * time.Second, needsJoin: true, needsRoot: true, check: inspectJournal},
		{
			name: "konnectivity", timeout: 20 * time.Second,
			needsJoin: true, needsRoot: true, needsAPI: true, check: inspectKonnectivity,
		},
		{
			name: "node", timeout: 30 * time.Second,
			needsJoin: true, needsRoot: true, needsAPI: true, check: inspectNode,
		},
	}
}

// runSections returns the findings of sections. If the API server does not respond, those that need it are not run:
// each would report an effect only, after its own time limit.
func runSections(all []section, run func(section) []report.Finding) []report.Finding {
	var findings []report.Finding
	var skipped []string
	isUnreachable := false
	for _, part := range all {
		if part.needsAPI && isUnreachable {
			skipped = append(skipped, part.name)
			continue
		}
		found := run(part)
		findings = append(findings, found...)
		isUnreachable = isUnreachable || part.name == apiServerSection && slices.ContainsFunc(found, isProblem)
	}
	if len(skipped) > 0 {
		skippedNote := note("", "not checked, because the API server does not respond: %s", strings.Join(skipped, ", "))
		skippedNote.Check = apiServerSection
		findings = append(findings, skippedNote)
	}
	return findings
}

func isProblem(one report.Finding) bool { return one.Severity == report.SeverityProblem }

// run runs the section. A failure or timeout becomes a finding.
func (s section) run(ctx context.Context, d *diagnostics) []report.Finding {
	if s.needsJoin && !d.hasStarted() || s.needsRoot && !d.host.Facts.Root {
		return nil
	}
	findings, err := runWithLimit(ctx, s.timeout, func(ctx context.Context) []report.Finding {
		found, err := s.check(ctx, d)
		if err != nil {
			found = append(found, notInspected(err, d.host.Facts.Root))
		}
		return found
	})
	if err != nil {
		findings = []report.Finding{warning("", "the check took longer than %s and was stopped", s.timeout)}
	}
	for i := range findings {
		findings[i].Check = s.name
		if (s.needsAPI || s.name == apiServerSection) && findings[i].Severity == report.SeverityWarning {
			findings[i].Reason = cmp.Or(findings[i].Reason, report.CheckFailed)
		}
	}
	return findings
}

// notInspected returns a finding about something that could not be inspected.
func notInspected(err error, root bool) report.Finding {
	if !root && errors.Is(err, fs.ErrPermission) {
		return note(rootRemedy, "root is required: %s", err)
	}
	return warning(report.RemedyOf(err), "the check failed: %s", err)
}

const rootRemedy = "sudo hcp-node-agent doctor"

// runWithLimit returns the result of do, or context.DeadlineExceeded if do exceeds
// the limit. A do that ignores its context continues in the background. It must not
// change data that others read.
func runWithLimit[T any](ctx context.Context, limit time.Duration, do func(context.Context) T) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	result := make(chan T, 1)
	go func() {
		defer cancel()
		result <- do(ctx)
	}()
	timer := time.NewTimer(limit + 2*time.Second) // time for do to return why it timed out
	defer timer.Stop()
	select {
	case value := <-result:
		return value, nil
	case <-timer.C:
		var none T
		return none, context.DeadlineExceeded
	}
}
