// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/upgrade"
)

// The files with generations during and after an upgrade. They are secrets, mode 0600.
const (
	NextFile     = "next.json"     // the generation that an unfinished upgrade or rollback installs
	PreviousFile = "previous.json" // the generation before the last upgrade, for upgrade --rollback
)

// Upgrade is the state of an unfinished upgrade.
type Upgrade struct {
	Started     time.Time       `json:"started"`
	From        string          `json:"from,omitempty"`        // release before the upgrade; "" if unknown
	To          string          `json:"to,omitempty"`          // release that is installed; "" if unknown
	RollingBack string          `json:"rollingBack,omitempty"` // why the previous generation is restored; "" if it is not
	Effects     upgrade.Effects `json:"effects,omitempty"`
	Drain       bool            `json:"drain,omitempty"`  // the node is drained if an effect requires it
	Drained     time.Time       `json:"drained,omitzero"` // start of the drain; zero until the node is drained
	Step        string          `json:"step,omitempty"`   // the last completed step
}

// ResumeUpgrade is the remedy for an unfinished upgrade.
const ResumeUpgrade report.Remedy = "hcp-node-agent upgrade # resumes the upgrade\nhcp-node-agent upgrade --rollback # or restores the previous payload and software"

// CheckNotUpgrading fails if an upgrade is unfinished.
func (s State) CheckNotUpgrading() error {
	if s.Upgrade == nil {
		return nil
	}
	return report.Fail(report.Refused, ResumeUpgrade, "an upgrade of this host started at %s and has not finished", report.Timestamp(s.Upgrade.Started))
}

// Generation describes what a node was joined with or upgraded to. It contains everything that later
// runs use, except for the changes in the ledger.
type Generation struct {
	Config              config.Join       `json:"config"`
	Endpoint            string            `json:"endpoint,omitempty"`
	NodePool            string            `json:"nodePool,omitempty"`
	ConfigHash          string            `json:"configHash,omitempty"`
	PayloadDigest       string            `json:"payloadDigest,omitempty"`
	PayloadConfigHash   string            `json:"payloadConfigHash,omitempty"`
	PayloadSourceDigest string            `json:"payloadSourceDigest,omitempty"`
	Files               map[string][]byte `json:"files"` // contents of generationFiles by name
}

// generationFiles are the files in the state directory that belong to a generation.
var generationFiles = []string{PayloadFile, OverridesFile, SoftwareFile}

// NewGeneration returns the generation of a state, with the contents of its files.
func NewGeneration(state State, files map[string][]byte) Generation {
	return Generation{
		Config:              state.Config,
		Endpoint:            state.Endpoint,
		NodePool:            state.NodePool,
		ConfigHash:          state.ConfigHash,
		PayloadDigest:       state.PayloadDigest,
		PayloadConfigHash:   state.PayloadConfigHash,
		PayloadSourceDigest: state.PayloadSourceDigest,
		Files:               files,
	}
}

// CurrentGeneration returns the installed generation.
func CurrentGeneration(dir string, state State) (Generation, error) {
	files := map[string][]byte{}
	for _, name := range generationFiles {
		content, err := LoadFile(dir, name)
		if err != nil {
			return Generation{}, err
		}
		if content != nil {
			files[name] = content
		}
	}
	return NewGeneration(state, files), nil
}

// Save writes the generation durably to a file in dir.
func (g Generation) Save(dir, name string) error {
	content, err := json.Marshal(g)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	return SaveFile(dir, name, content)
}

// LoadGeneration reads a generation from a file in dir. It returns nil if the file does not exist.
func LoadGeneration(dir, name string) (*Generation, error) {
	content, err := LoadFile(dir, name)
	if err != nil || content == nil {
		return nil, err
	}
	var g Generation
	if err := json.Unmarshal(content, &g); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return &g, nil
}

// Install makes the generation the current one. It can be repeated after an interruption. The
// state is written last.
func (g Generation) Install(dir string, state *State) error {
	for _, name := range generationFiles {
		content, exists := g.Files[name]
		if !exists {
			if err := RemoveFiles(dir, name); err != nil {
				return err
			}
			continue
		}
		if err := SaveFile(dir, name, content); err != nil {
			return err
		}
	}
	state.Config, state.Endpoint, state.NodePool, state.ConfigHash = g.Config, g.Endpoint, g.NodePool, g.ConfigHash
	state.PayloadDigest, state.PayloadConfigHash, state.PayloadSourceDigest = g.PayloadDigest, g.PayloadConfigHash, g.PayloadSourceDigest
	return Write(dir, *state)
}
