package doctor

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bundle"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// DoctorFinding is one finding of the diagnostics.
type DoctorFinding struct {
	Section  string          `json:"part"` // section of the diagnostics
	Severity report.Severity `json:"severity"`
	Text     string          `json:"text"`
	Remedy   report.Remedy   `json:"remedy,omitempty"`  // commands to run next
	Refuses  bool            `json:"refuses,omitempty"` // a join would be refused because of the finding
}

// DoctorReport contains all findings, the most severe first.
type DoctorReport struct {
	report.TypeMeta
	Time     time.Time       `json:"time"`
	Hostname string          `json:"hostname"`
	Phase    string          `json:"phase"` // none, joining, joined, leaving, unknown
	Findings []DoctorFinding `json:"findings"`
	ExitCode report.Code     `json:"exitCode"` // exit code that results from the findings
	Bundle   *DoctorBundle   `json:"bundle,omitempty"`
}

// DoctorBundle describes the archive that was created for a support case.
type DoctorBundle struct {
	File string `json:"file"`
	bundle.Manifest
}

// DoctorOptions configures Doctor.
type DoctorOptions struct {
	inputs.Options
	Bundle  string // archive to create; "" for none
	Version string // of the agent
}

// Doctor runs the diagnostics of this host and changes nothing. The host may have
// joined, have a join in progress, or not have joined. Doctor fails if the
// diagnostics cannot be run or the bundle cannot be created. The outcome of the
// findings is in the Err of the report.
func Doctor(ctx context.Context, options DoctorOptions) (DoctorReport, error) {
	if err := checkBundle(options.Bundle); err != nil {
		return DoctorReport{TypeMeta: report.Meta("DoctorReport"), Findings: []DoctorFinding{}}, err
	}
	p, opened := openDiagnostics(ctx, options.Options)
	defer p.Close()
	document := DoctorReport{TypeMeta: report.Meta("DoctorReport"), Time: time.Now().UTC(), Hostname: p.Facts.Hostname, Phase: p.phase()}
	findings := opened
	for _, part := range sections() {
		findings = append(findings, part.run(ctx, p)...)
	}
	document.Findings = sortFindings(findings)
	document.ExitCode = report.CodeOf(document.Err())
	if err := ctx.Err(); err != nil {
		return document, report.ExplainInterruption(ctx, err)
	}
	if options.Bundle != "" {
		made, err := p.bundle(ctx, options, document)
		if err != nil {
			return document, err
		}
		document.Bundle = &made
	}
	return document, nil
}

// Err returns the failure that results from the findings, nil if there is no
// problem. Its code is Failed if a problem affects the node now, else Refused if a
// join would be refused.
func (r DoctorReport) Err() error {
	now, refusals := 0, 0
	for _, finding := range r.Findings {
		switch {
		case finding.Severity != report.SeverityProblem:
		case finding.Refuses:
			refusals++
		default:
			now++
		}
	}
	switch {
	case now > 0:
		return report.Fail(report.Failed, "", "something hinders the node: %d problems", now+refusals)
	case refusals > 0:
		return report.Fail(report.Refused, "", "a join would be refused: %d problems", refusals)
	}
	return nil
}

// Count returns the number of findings with the severity.
func (r DoctorReport) Count(severity report.Severity) int {
	n := 0
	for _, finding := range r.Findings {
		if finding.Severity == severity {
			n++
		}
	}
	return n
}

// sortFindings sorts findings by severity, the most severe first, and removes
// duplicates. It masks secrets and control characters, which texts of other
// programs may contain.
func sortFindings(findings []DoctorFinding) []DoctorFinding {
	order := report.Severities()
	for i := range findings {
		findings[i].Text, findings[i].Remedy = redact.Text(printable(findings[i].Text)), report.Remedy(printable(string(findings[i].Remedy)))
	}
	slices.SortStableFunc(findings, func(a, b DoctorFinding) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	once := []DoctorFinding{}
	for _, finding := range findings {
		// Sections that run the same check report it with the same text. Keep the finding
		// that affects the node now rather than the one that would only refuse a join.
		at := slices.IndexFunc(once, func(one DoctorFinding) bool { return one.Text == finding.Text })
		if at < 0 {
			once = append(once, finding)
		} else if one := &once[at]; one.Refuses && !finding.Refuses && finding.Severity == one.Severity {
			*one = finding
		}
	}
	return once
}

// printable replaces characters that control a terminal by spaces.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, text)
}
