package kubelet

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// patience is the delay before temporary findings and additional problems are
// logged. While a node starts, many of them disappear within moments.
const patience = 10 * time.Second

// teller logs the findings of a wait, each text once.
type teller struct {
	log      report.Log
	patience time.Duration
	seen     map[string]time.Time // when each finding was first seen
	told     []string
	last     Finding // the last summary, for the error at the deadline
}

func (n *Node) teller(last Finding) *teller {
	return &teller{log: n.Log, patience: n.patience, seen: map[string]time.Time{}, last: last}
}

// ended returns the error for the end of a wait. If the deadline passed, it
// logs the details of the last summary.
func (t *teller) ended(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		for _, detail := range t.last.Details {
			t.log.Note("said: " + detail)
		}
	}
	return timeUp(ctx, err, t.last.failure())
}

// tell logs the most direct cause as one sentence, and the other problems after
// they have lasted for quietPeriod. quiet also delays a temporary first
// finding.
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
