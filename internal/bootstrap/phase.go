package bootstrap

import (
	"cmp"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Progress returns the progress of the join: "none", "joining" or "joined".
func (s State) Progress() string {
	switch {
	case !s.Exists():
		return "none"
	case s.Finished.IsZero():
		return "joining"
	}
	return "joined"
}

// Phase returns progress, or "leaving" while a leave is unfinished.
func (s State) Phase() string {
	if !s.Leaving.IsZero() {
		return "leaving"
	}
	return s.Progress()
}

// CheckNotLeaving fails if a leave is unfinished. A leave that a power failure or a
// reboot interrupted must not become a join.
func (s State) CheckNotLeaving() error {
	if s.Phase() != "leaving" {
		return nil
	}
	return report.Fail(report.Refused,
		"hcp-node-agent leave # resumes the leave\nhcp-node-agent join --user-data FILE # joins again instead",
		"a leave of this host began at %s and has not finished", s.Leaving.Local().Format(time.RFC3339))
}

// HasCompleted reports whether the host has completed the step, so that the results
// of the step must exist. It returns false for skipped steps.
func (s State) HasCompleted(name string) bool {
	place := func(fits func(Step) bool) int { return slices.IndexFunc(Steps(), fits) }
	last := place(func(step Step) bool { return step.Name == s.LastStep })
	switch s.Phase() {
	case "none", "leaving":
		return false
	case "joined": // also while a later run repeats the steps
		last = place(func(step Step) bool { return step.Until == cmp.Or(s.Config.Until, "schedulable") })
	}
	at := place(func(step Step) bool { return step.Name == name })
	return at >= 0 && at <= last && !slices.Contains(s.Config.Skip, name)
}

// NextStep returns the name of the step after the last completed one.
func (s State) NextStep() string {
	steps := Steps()
	at := slices.IndexFunc(steps, func(step Step) bool { return step.Name == s.LastStep }) + 1
	if at == len(steps) {
		return s.LastStep // all steps are complete, but the end is not recorded
	}
	return steps[at].Name
}
