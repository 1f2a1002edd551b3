package kubelet

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// patience is how long what goes by itself is waited for without a word, and
// how long a second problem has to last before it gets a line of its own: on
// its way up a node has many that are gone a moment later.
const patience = 10 * time.Second

// teller tells a wait's findings, each sentence once.
type teller struct {
	log      report.Log
	patience time.Duration
	seen     map[string]time.Time // when a finding was first seen
	told     []string
	last     Finding // the last sentence, for when the time is up
}

func (n *Node) teller(last Finding) *teller {
	return &teller{log: n.Log, patience: n.patience, seen: map[string]time.Time{}, last: last}
}

// ended is the error for the end of a wait. With it goes what the last
// sentence was made from.
func (t *teller) ended(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		for _, detail := range t.last.Details {
			t.log.Note("said: " + detail)
		}
	}
	return timeUp(ctx, err, t.last.failure())
}

// tell says what is waited for: the nearest cause in one sentence, and those
// behind it once they have lasted for a while. quiet keeps what goes by itself
// unsaid for a moment.
func (t *teller) tell(prefix string, findings []Finding, quiet bool) {
	if len(findings) == 0 {
		return
	}
	now := time.Now()
	for _, f := range findings {
		if _, known := t.seen[f.Text]; !known {
			t.seen[f.Text] = now
		}
	}
	lasting := func(f Finding) bool { return now.Sub(t.seen[f.Text]) >= t.patience }
	t.last = summary(prefix, findings)
	if !quiet || !findings[0].passing || lasting(findings[0]) {
		t.log.Wait(t.last.Text, t.last.Remedy)
	}
	for _, f := range findings[1:] {
		if f.Severity != report.SeverityNote && f.About != "" && !f.passing && lasting(f) && !slices.Contains(t.told, f.Text) {
			t.told = append(t.told, f.Text)
			t.log.Warn(f.Text, f.Remedy)
		}
	}
}
