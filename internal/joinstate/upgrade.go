// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

// The files with generations during and after an upgrade. They are secrets, mode 0600.
//
// The records of an upgrade from A to B, on a node that was upgraded from Z to A before, in the order in
// which they are written. Each line is durable before the next one begins:
//
//	                         replaced.json  next.json  previous.json  join.json     payload.ign ...
//	before                   -              -          Z              A             A
//	BeginUpgrade             A              -          Z              A             A
//	                         A              B          Z              A             A
//	  the upgrade begins     A              B          Z              A, Upgrade    A
//	InstallUpgrade           A              B          A              A, Upgrade    A
//	                         -              B          A              A, Upgrade    A
//	                         -              B          A              A, Upgrade    B, file by file
//	                         -              B          A              B, Upgrade    B
//	FinishUpgrade            -              -          A              B, Upgrade    B
//	                         -              -          A              B             B
//
//	BeginRollback            -              B or -     A              B, Upgrade*   B
//	InstallUpgrade           -              B or -     A              B, Upgrade*   A, file by file
//	                         -              B or -     A              A, Upgrade*   A
//	FinishUpgrade            -              -          -              A, Upgrade*   A
//	                         -              -          -              A             A
//
// Upgrade* has a reason in RollingBack. Without an Upgrade in join.json, replaced.json and next.json are
// remains of a run that could not begin, and nothing reads them.
const (
	NextFile     = "next.json"     // the generation that an unfinished upgrade installs
	ReplacedFile = "replaced.json" // the generation that an upgrade replaces, until it is the previous one
	PreviousFile = "previous.json" // the generation before the last upgrade, for upgrade --rollback
)

// Upgrade is the state of an unfinished upgrade.
type Upgrade struct {
	Started     time.Time `json:"started"`
	From        string    `json:"from,omitempty"`        // release before the upgrade; "" if unknown
	To          string    `json:"to,omitempty"`          // release that is installed; "" if unknown
	RollingBack string    `json:"rollingBack,omitempty"` // why the previous generation is restored; "" if it is not
	// the generation is the installed one, and does not become the previous one
	SameGeneration bool            `json:"sameGeneration,omitempty"`
	Effects        effects.Effects `json:"effects,omitempty"`
	Drain          bool            `json:"drain,omitempty"`        // the node is drained if an effect requires it
	DrainBegan     time.Time       `json:"drainBegan,omitzero"`    // start of the drain, also if it was interrupted
	DrainTimeout   config.Duration `json:"drainTimeout,omitempty"` // from DrainBegan on; 0 for the default
	Drained        time.Time       `json:"drained,omitzero"`       // start of the drain; zero until the node is drained
	Step           string          `json:"step,omitempty"`         // the last completed step
}

// Requires reports whether a change of the upgrade takes effect by the action on the unit. Of no upgrade, it
// returns false.
func (u *Upgrade) Requires(action effects.Action, unit string) bool {
	return u != nil && u.Effects.Requires(action, unit)
}

// IsRollingBack reports whether the previous payload and software are being restored.
func (u *Upgrade) IsRollingBack() bool { return u != nil && u.RollingBack != "" }

// IsDrained reports whether the upgrade has drained the node.
func (u *Upgrade) IsDrained() bool { return u != nil && !u.Drained.IsZero() }

// Staged describes the software that upgrade --stage has downloaded and unpacked for a payload.
type Staged struct {
	Since         time.Time          `json:"since"`
	PayloadDigest string             `json:"payloadDigest"`      // SHA-256 of the payload as served
	Software      *software.Contents `json:"software,omitempty"` // of the payload; nil if it is unknown
	Size          int64              `json:"size,omitempty"`     // on the disk, in bytes
}

// ResumeUpgrade is the remedy for an unfinished upgrade.
const ResumeUpgrade report.Remedy = "hcp-node-agent upgrade # resumes the upgrade\n" +
	"hcp-node-agent upgrade --rollback # or restores the previous payload and software"

// CheckNotUpgrading fails if an upgrade is unfinished.
func (s State) CheckNotUpgrading() error {
	if s.Upgrade == nil {
		return nil
	}
	return report.Fail(report.Refused, ResumeUpgrade, "an upgrade of this host started at %s and has not finished",
		report.Timestamp(s.Upgrade.Started))
}

// BeginUpgrade records durably that the host is upgraded from the installed generation to the next one.
// It returns the record of the upgrade. If it fails, the host has no upgrade, or one that can be resumed.
func BeginUpgrade(dir string, next Generation, u Upgrade) (*Upgrade, error) {
	installed, err := Read(dir)
	if err != nil {
		return nil, err
	}
	replaced, err := CurrentGeneration(dir, installed)
	if err != nil {
		return nil, err
	}
	if u.SameGeneration = next.IsSame(replaced); u.SameGeneration {
		err = RemoveFiles(dir, ReplacedFile) // the previous generation remains
	} else {
		err = replaced.Save(dir, ReplacedFile)
	}
	if err != nil {
		return nil, err
	}
	if err := next.Save(dir, NextFile); err != nil {
		return nil, err
	}
	installed.Upgrade = &u
	return &u, Write(dir, installed)
}

// BeginRollback records durably that the previous generation is installed again. u is the record of the
// rollback.
func BeginRollback(dir string, state State, u Upgrade) error {
	state.Upgrade = &u
	return Write(dir, state)
}

// LoadPrevious returns the generation that a rollback installs. It fails if there is none, or if it is the
// installed one.
func LoadPrevious(dir string, state State) (*Generation, error) {
	var previous *Generation
	var err error
	if state.Upgrade != nil {
		previous, err = LoadGeneration(dir, ReplacedFile) // the upgrade has only begun
	}
	if previous == nil && err == nil {
		previous, err = LoadGeneration(dir, PreviousFile)
	}
	if err != nil {
		return nil, err
	}
	if previous == nil {
		return nil, report.Fail(report.Refused, "hcp-node-agent status",
			"there is no upgrade of this host that could be rolled back")
	}
	current, err := CurrentGeneration(dir, state)
	if err != nil {
		return nil, err
	}
	if state.Upgrade == nil && previous.IsSame(current) {
		return nil, report.Fail(report.Refused, "hcp-node-agent status",
			"the previous payload is the installed one: there is nothing to roll back")
	}
	return previous, nil
}

// keepReplaced makes the generation that an upgrade replaces the previous one. It can be repeated.
func keepReplaced(dir string) error {
	replaced, err := LoadGeneration(dir, ReplacedFile)
	if err != nil || replaced == nil {
		return err
	}
	if err := replaced.Save(dir, PreviousFile); err != nil {
		return err
	}
	return RemoveFiles(dir, ReplacedFile)
}

// InstallUpgrade makes the generation of the unfinished upgrade, or of its rollback, the current one. It
// can be repeated.
func InstallUpgrade(dir string, state *State) error {
	if err := keepReplaced(dir); err != nil {
		return err
	}
	name := NextFile
	if state.Upgrade.RollingBack != "" {
		name = PreviousFile
	}
	generation, err := LoadGeneration(dir, name)
	if err != nil || generation == nil {
		return err // without a file, it is installed, and only the record of the upgrade remains
	}
	return generation.Install(dir, state)
}

// FinishUpgrade removes the records of an upgrade or a rollback that is complete. A rollback leaves no
// previous generation.
func FinishUpgrade(dir string, state *State) error {
	remove := []string{NextFile}
	if state.Upgrade.RollingBack != "" {
		remove = append(remove, PreviousFile)
	}
	if err := RemoveFiles(dir, remove...); err != nil {
		return err
	}
	state.Upgrade, state.RebootNeeded = nil, ""
	return Write(dir, *state)
}
