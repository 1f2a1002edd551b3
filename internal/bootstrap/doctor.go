package bootstrap

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bundle"
	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// DoctorFinding is one thing that doctor has found.
type DoctorFinding struct {
	Part     string          `json:"part"` // of the examination
	Severity report.Severity `json:"severity"`
	Text     string          `json:"text"`
	Remedy   report.Remedy   `json:"remedy,omitempty"`  // the next commands
	Refuses  bool            `json:"refuses,omitempty"` // a check that a join makes found it, and refuses for it
}

// DoctorReport is all that doctor has found, the worst first.
type DoctorReport struct {
	report.TypeMeta
	Time     time.Time       `json:"time"`
	Hostname string          `json:"hostname"`
	Phase    string          `json:"phase"` // none, joining, joined, leaving, unknown
	Findings []DoctorFinding `json:"findings"`
	ExitCode report.Code     `json:"exitCode"` // that the findings amount to
	Bundle   *DoctorBundle   `json:"bundle,omitempty"`
}

// DoctorBundle is the file that was made for a support case.
type DoctorBundle struct {
	File string `json:"file"`
	bundle.Manifest
}

// DoctorOptions is what doctor is told.
type DoctorOptions struct {
	Options
	Bundle  string // file to make; "" for none
	Version string // of the agent
}

// Doctor examines this host, whether it has joined, is half joined or has not,
// and changes nothing. Its failure is that it could not, or that no bundle could
// be made; what the findings amount to is the report's own Err.
func Doctor(ctx context.Context, options DoctorOptions) (DoctorReport, error) {
	if err := checkBundle(options.Bundle); err != nil {
		return DoctorReport{TypeMeta: report.Meta("DoctorReport"), Findings: []DoctorFinding{}}, err
	}
	p, opened := meet(ctx, options.Options)
	defer p.close()
	document := DoctorReport{TypeMeta: report.Meta("DoctorReport"), Time: time.Now().UTC(), Hostname: p.facts.Hostname, Phase: p.phase()}
	findings := opened
	for _, part := range doctorParts() {
		findings = append(findings, part.examine(ctx, p)...)
	}
	document.Findings = sorted(findings)
	document.ExitCode = report.CodeOf(document.Err())
	if err := ctx.Err(); err != nil {
		return document, inWords(ctx, err)
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

// Err is the failure that the findings amount to, nil when all is well. Its code
// is Failed when something hinders the node now, else Refused when a join would
// be refused.
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

// Count tells how many findings have a severity.
func (r DoctorReport) Count(severity report.Severity) int {
	n := 0
	for _, finding := range r.Findings {
		if finding.Severity == severity {
			n++
		}
	}
	return n
}

// sorted makes findings fit to be shown: the worst first, each once, in plain
// characters and without secrets, which can be in what others have said.
func sorted(findings []DoctorFinding) []DoctorFinding {
	order := report.Severities()
	for i := range findings {
		findings[i].Text, findings[i].Remedy = redact.Text(plain(findings[i].Text)), report.Remedy(plain(string(findings[i].Remedy)))
	}
	slices.SortStableFunc(findings, func(a, b DoctorFinding) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	once := []DoctorFinding{}
	for _, finding := range findings {
		// Two parts that see the same by the same check say it in the same words;
		// what hinders the node now counts more than what a join would refuse.
		at := slices.IndexFunc(once, func(one DoctorFinding) bool { return one.Text == finding.Text })
		if at < 0 {
			once = append(once, finding)
		} else if one := &once[at]; one.Refuses && !finding.Refuses && finding.Severity == one.Severity {
			*one = finding
		}
	}
	return once
}

// plain is a text without what would steer a terminal.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, text)
}
