// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Phase is a phase of a node's life on a host.
type Phase string

// The phases.
const (
	PhaseNone      Phase = "none"    // no join was started
	PhaseJoining   Phase = "joining" // the join has not finished
	PhaseJoined    Phase = "joined"
	PhaseUpgrading Phase = "upgrading" // an upgrade or its rollback has not finished
	PhaseLeaving   Phase = "leaving"   // a leave has not finished
	PhaseUnknown   Phase = "unknown"   // the state cannot be read
)

// Enum returns all phases.
func (Phase) Enum() []string {
	return schema.Strings(PhaseNone, PhaseJoining, PhaseJoined, PhaseUpgrading, PhaseMaintenance, PhaseLeaving,
		PhaseUnknown)
}

// Phase returns the phase of the host.
func (s State) Phase() Phase {
	switch {
	case !s.Leaving.IsZero():
		return PhaseLeaving
	case !s.Exists():
		return PhaseNone
	case s.Finished.IsZero():
		return PhaseJoining
	case s.Upgrade != nil:
		return PhaseUpgrading
	}
	return PhaseJoined
}

// CheckHasJoined fails unless a join of the host has finished, and no leave has started.
func (s State) CheckHasJoined() error {
	switch s.Phase() {
	case PhaseNone:
		return report.Fail(report.Refused, "hcp-node-agent join --user-data USER_DATA", "this host has not joined a cluster")
	case PhaseJoining:
		return report.Fail(report.Refused, "hcp-node-agent join # resumes the join", "the join of this host has not finished")
	}
	return s.CheckNotLeaving()
}

// CheckNotLeaving fails if a leave is unfinished. A leave that a power failure or a
// reboot interrupted must not become a join.
func (s State) CheckNotLeaving() error {
	if s.Phase() != PhaseLeaving {
		return nil
	}
	return report.Fail(report.Refused,
		"hcp-node-agent leave # resumes the leave\nhcp-node-agent join --user-data USER_DATA # joins again instead",
		"a leave of this host started at %s and has not finished", s.Leaving.Local().Format(time.RFC3339))
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
