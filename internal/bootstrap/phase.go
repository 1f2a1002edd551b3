package bootstrap

import (
	"cmp"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// progress is how far a join has come: none, joining or joined.
func (s State) progress() string {
	switch {
	case !s.Known():
		return "none"
	case s.Finished.IsZero():
		return "joining"
	}
	return "joined"
}

// phase returns progress, or "leaving" from the begin of a leave to its end.
func (s State) phase() string {
	if !s.Leaving.IsZero() {
		return "leaving"
	}
	return s.progress()
}

// stays refuses to resume the join of a host whose leave is unfinished. A leave
// that a power cut or a reboot interrupted must not become a join.
func (s State) stays() error {
	if s.phase() != "leaving" {
		return nil
	}
	return report.Fail(report.Refused,
		"hcp-node-agent leave # resumes the leave\nhcp-node-agent join --user-data FILE # joins again instead",
		"a leave of this host began at %s and has not finished", s.Leaving.Local().Format(time.RFC3339))
}

// behind tells whether a step of the join is behind a host, so that what it
// makes has to be there. One that was left out on request never is.
func (s State) behind(name string) bool {
	place := func(fits func(Step) bool) int { return slices.IndexFunc(Steps(), fits) }
	last := place(func(step Step) bool { return step.Name == s.LastStep })
	switch s.phase() {
	case "none", "leaving":
		return false
	case "joined": // also while a later run goes through the steps again
		last = place(func(step Step) bool { return step.Until == cmp.Or(s.Config.Until, "schedulable") })
	}
	at := place(func(step Step) bool { return step.Name == name })
	return at >= 0 && at <= last && !slices.Contains(s.Config.Skip, name)
}

// next is the step that comes after the last one that is behind.
func (s State) next() string {
	steps := Steps()
	at := slices.IndexFunc(steps, func(step Step) bool { return step.Name == s.LastStep }) + 1
	if at == len(steps) {
		return s.LastStep // it did not say that it had ended
	}
	return steps[at].Name
}
