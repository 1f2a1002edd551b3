package bootstrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// StateDir is where the agent keeps what it needs across runs, 0700.
const StateDir = "/var/lib/hcp-node-agent"

// The files in it. The stub and the payload are secrets, 0600.
const (
	stateFile   = "join.json"
	stubFile    = "stub.ign"    // while a join is unfinished, so that the unit can resume it
	payloadFile = "payload.ign" // so that a restart never asks for the token again
	keyDir      = "keys"
	ticketFile  = "ticket" // while a join is unfinished

	bridgeFile = "bridge.json" // the move into br-ex that was made, and its gap

	overridesFile = "overrides.json" // what is merged over the payload; secret too, and its files can be gone
)

// State is what is known of a join across runs.
type State struct {
	report.TypeMeta
	Config      config.Join `json:"config"`
	NodeName    string      `json:"nodeName,omitempty"`
	MachineID   string      `json:"machineID,omitempty"` // of the host that joined; a clone is not joined
	Endpoint    string      `json:"endpoint,omitempty"`
	NodePool    string      `json:"nodePool,omitempty"`
	Hosted      bool        `json:"hosted"` // a NodePool's, not a standalone cluster's
	ConfigHash  string      `json:"configHash,omitempty"`
	APIServer   string      `json:"apiServer,omitempty"`
	APIServerCA []byte      `json:"apiServerCA,omitempty"` // PEM; an existing identity is compared with it
	Payload     string      `json:"payload,omitempty"`     // SHA-256 of what was served
	PayloadOf   string      `json:"payloadOf,omitempty"`   // the config hash that it is of
	PayloadBy   string      `json:"payloadBy,omitempty"`   // SHA-256 of the stub that it was fetched with
	LastStep    string      `json:"lastStep,omitempty"`
	Registered  bool        `json:"registered,omitempty"` // the Node was seen Ready
	Started     time.Time   `json:"started"`
	Finished    time.Time   `json:"finished,omitzero"` // zero while the join goes on
	Leaving     time.Time   `json:"leaving,omitzero"`  // when the unfinished leave began
}

// Known tells whether a join was ever begun here.
func (s State) Known() bool { return !s.Started.IsZero() }

// of notes which cluster and NodePool a stub leads to; nil changes nothing.
func (s *State) of(stub *ignition.Stub) {
	if stub == nil {
		return
	}
	s.Endpoint, s.Hosted = stub.Source.Host, stub.Hosted()
	s.NodePool, s.ConfigHash = stub.NodePool(), stub.ConfigHash()
}

// readState reads what is known; nothing known is no error.
func readState(dir string) (State, error) {
	content, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("reading the state of the join: %w", err)
	}
	var state State
	if err := json.Unmarshal(content, &state); err != nil {
		return State{}, fmt.Errorf("reading the state of the join: %s: %w", filepath.Join(dir, stateFile), err)
	}
	return state, nil
}

// keep writes one of the agent's own files.
func keep(dir, name string, content []byte) error {
	if err := host.WritePrivate(dir, name, content); err != nil {
		return fmt.Errorf("keeping %s: %w", name, err)
	}
	return nil
}

func writeState(dir string, state State) error {
	state.TypeMeta = report.Meta("JoinState")
	content, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the state of the join: %w", err)
	}
	return keep(dir, stateFile, append(content, '\n'))
}

// drop removes files of the agent durably. Missing files are no error.
func drop(dir string, names ...string) error {
	paths := make([]string, 0, len(names))
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	return host.RemoveSynced(paths...)
}

// read reads one of the agent's own files; nil when it is not there.
func read(dir, name string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return content, nil
}
