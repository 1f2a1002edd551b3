package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// doctorPart is one section of the diagnostics. It has its own time limit, and its
// failure does not affect other sections.
type doctorPart struct {
	name  string
	limit time.Duration
	look  func(ctx context.Context, p *patient) ([]DoctorFinding, error)
}

// doctorParts returns the sections in the order of a join.
func doctorParts() []doctorPart {
	return []doctorPart{
		{"join", 10 * time.Second, examineJoin},
		{"host", 45 * time.Second, examineHost},
		{"admission", 30 * time.Second, examineAdmission},
		{"units", 20 * time.Second, examineUnits},
		{"network", 30 * time.Second, examineBridge},
		{"leftovers", 20 * time.Second, examineLeftovers},
		{"drift", time.Minute, examineDrift},
		{"certificates", 10 * time.Second, examineCertificates},
		{"request", 20 * time.Second, examineRequest},
		{"serving", 20 * time.Second, examineServing},
		{"journal", 30 * time.Second, examineJournal},
		{"node", 30 * time.Second, examineNode},
	}
}

// examine runs the section. A failure or timeout becomes a finding.
func (d doctorPart) examine(ctx context.Context, p *patient) []DoctorFinding {
	type seen struct {
		findings []DoctorFinding
		err      error
	}
	found, err := within(ctx, d.limit, func(ctx context.Context) seen {
		findings, err := d.look(ctx, p)
		return seen{findings, err}
	})
	switch {
	case err != nil:
		found.findings = append(found.findings, DoctorFinding{
			Severity: report.SeverityWarning, Text: fmt.Sprintf("looking at it took longer than %s, and was left", d.limit),
		})
	case found.err != nil:
		found.findings = append(found.findings, unseen(found.err, p.facts.Root))
	}
	for i := range found.findings {
		found.findings[i].Part = d.name
	}
	return found.findings
}

// unseen returns a finding about something that could not be inspected.
func unseen(err error, root bool) DoctorFinding {
	if !root && errors.Is(err, fs.ErrPermission) {
		return DoctorFinding{Severity: report.SeverityNote, Text: "not seen without root: " + err.Error(), Remedy: asRoot}
	}
	return DoctorFinding{Severity: report.SeverityWarning, Text: "could not be looked at: " + err.Error(), Remedy: report.Remedy(report.RemedyOf(err))}
}

const asRoot = "sudo hcp-node-agent doctor"

// within returns the result of do, or context.DeadlineExceeded if do exceeds
// the limit. A do that ignores its context continues in the background. It must not
// change data that others read.
func within[T any](ctx context.Context, limit time.Duration, do func(context.Context) T) (T, error) {
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
