package joinstate

import (
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// progress returns the progress of the join: "none", "joining" or "joined".
func (s State) progress() string {
	switch {
	case !s.Exists():
		return "none"
	case s.Finished.IsZero():
		return "joining"
	}
	return "joined"
}

// Phase returns Progress, or "leaving" while a leave is unfinished.
func (s State) Phase() string {
	if !s.Leaving.IsZero() {
		return "leaving"
	}
	return s.progress()
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
	return s.Leaving.IsZero() && slices.Contains(s.Completed, name)
}

// Complete records that the step has been completed and that next follows.
func (s *State) Complete(step, next string) {
	s.LastStep, s.NextStep = step, next
	if !slices.Contains(s.Completed, step) {
		s.Completed = append(s.Completed, step)
	}
}

// Topology returns whether the host is a node of a hosted or a standalone cluster.
func (s State) Topology() identity.ClusterTopology {
	return identity.ClusterTopology{Standalone: s.Exists() && !s.Hosted}
}
