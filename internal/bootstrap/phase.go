package bootstrap

import (
	"cmp"
	"slices"

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

// phase is progress, or leaving while what a join made is given back.
func (s State) phase() string {
	if slices.ContainsFunc(leaveSteps(nil, true), func(step Step) bool { return step.Name == s.LastStep }) {
		return "leaving"
	}
	return s.progress()
}

// stays refuses to go on with the join of a host that somebody makes leave: a
// leave that was cut by a reboot is not turned into a join.
func (s State) stays() error {
	if s.phase() != "leaving" {
		return nil
	}
	return report.Fail(report.Refused, "hcp-node-agent leave # goes on where it ended\nhcp-node-agent join # joins again",
		"a leave of this host was begun and has not ended")
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
