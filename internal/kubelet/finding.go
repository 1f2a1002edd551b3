package kubelet

import (
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Finding is one thing that is not as it should be with this machine as a node.
type Finding struct {
	Severity report.Severity `json:"severity"`
	Text     string          `json:"text"`             // one sentence: what, why, who can mend it
	Remedy   string          `json:"remedy,omitempty"` // the next command to type
	// Details are what the sentence was made from, in the words of those who
	// said it, secrets masked.
	Details []string `json:"details,omitempty"`

	About string `json:"about,omitempty"` // in two or three words; "" where a sentence about another cause needs no word of it
	// Blind says that for this reason not everything could be looked at: other
	// findings can be missing.
	Blind   bool `json:"-"`
	passing bool // it goes by itself, mostly within seconds
}

func (f Finding) failure() error { return report.Fail(report.Failed, f.Remedy, "%s", f.Text) }

// summary tells the nearest cause in one sentence, and names the other problems.
// The prefix says what they keep from being; a cause that begins with it says
// so itself.
func summary(prefix string, findings []Finding) Finding {
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
		first.Text += "; also: " + listed(others, 3)
	}
	return first
}

// listed names the first few.
func listed(names []string, shown int) string {
	if len(names) > shown+1 { // "and 1 more" is no shorter than its name
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}
