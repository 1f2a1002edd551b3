package node

import (
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Finding describes one problem of this host as a node.
type Finding struct {
	Severity report.Severity `json:"severity"`
	Text     string          `json:"text"`             // one sentence: what failed, why, and who can fix it
	Remedy   string          `json:"remedy,omitempty"` // the next command to run
	// Details are the messages that Text summarizes, in their original words with
	// secrets masked.
	Details []string `json:"details,omitempty"`

	About string `json:"about,omitempty"` // subject in two or three words; "" if a summary need not list it
	// Incomplete means that the checks are incomplete for this reason: other findings
	// may be missing.
	Incomplete bool `json:"-"`
	temporary  bool // usually disappears within seconds
}

func (f Finding) failure() error { return report.Fail(report.Failed, f.Remedy, "%s", f.Text) }

// summarize returns the first finding, with the subjects of other problems added
// to its text. The text starts with prefix.
func summarize(prefix string, findings []Finding) Finding {
	first := findings[0]
	if !strings.HasPrefix(first.Text, prefix) {
		first.Text = prefix + ": " + first.Text
	}
	var others []string
	for _, f := range findings[1:] {
		if f.Severity == report.SeverityProblem && f.About != "" {
			others = append(others, f.About)
		}
	}
	if len(others) > 0 {
		first.Text += "; also: " + joinFirst(others, 3)
	}
	return first
}

// joinFirst joins the first names and counts the rest.
func joinFirst(names []string, shown int) string {
	if len(names) > shown+1 { // "and 1 more" is not shorter than the name
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}
