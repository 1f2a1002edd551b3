// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Dir is the directory of the agent's persistent state, mode 0700.
const Dir = "/var/lib/hcp-node-agent"

// The files in Dir. The user data and the payload are secrets, mode 0600.
const (
	StateFile     = "join.json"
	UserDataFile  = "user-data.ign" // while a join is unfinished, so that the unit can resume it
	LayerFile     = "node-layer"    // a layer of the OS image, while it is downloaded and unpacked
	SoftwareFile  = "software.json" // release and packages of the payload's OS image
	PurgeFile     = "purge.json"    // which packages a leave removes at its end, while it is unfinished
	PayloadFile   = "payload.ign"   // so that a restart never needs the token again
	KeyDir        = "keys"
	JoinTokenFile = "token" // while a join is unfinished

	BridgeRecordFile = "bridge.json" // record of the last migration of the uplink to br-ex, with its interruption

	PackagesDir = "packages" // dnf's cache with the packages of an upgrade, until its end

	OverridesFile = "overrides.json" // saved overrides; secret, and the original files may no longer exist

	RepairsFile = "repairs.json" // times of the last repairs by the service

	PublishedCAsFile = "published-cas.json" // CAs of the API server that the cluster has published
)

// AppliedPayloadPath is the file of a host in image mode that names the payload of its /etc. After a rollback of the
// image, /etc is an older copy, and so is this file.
const AppliedPayloadPath = "/etc/hcp-node-agent/applied-payload"

// kindState is the kind of StateFile.
const kindState = "JoinState"

// State is the persistent state of a join.
type State struct {
	report.TypeMeta
	Config     config.Join `json:"config"`
	NodeName   string      `json:"nodeName,omitempty"`
	MachineID  string      `json:"machineID,omitempty"` // of the host that joined; a clone has another one
	Endpoint   string      `json:"endpoint,omitempty"`
	NodePool   string      `json:"nodePool,omitempty"`
	Hosted     bool        `json:"hosted"` // a hosted cluster's NodePool, not a standalone cluster
	ConfigHash string      `json:"configHash,omitempty"`
	APIServer  string      `json:"apiServer,omitempty"`
	// URLs of the API server before it moved, which the saved payload can contain
	FormerAPIServers []string `json:"formerAPIServers,omitempty"`
	// PEM; existing client certificates are checked against it
	APIServerCA         []byte `json:"apiServerCA,omitempty"`
	PayloadDigest       string `json:"payloadDigest,omitempty"`       // SHA-256 of the payload as served
	PayloadConfigHash   string `json:"payloadConfigHash,omitempty"`   // config hash of the payload
	PayloadSourceDigest string `json:"payloadSourceDigest,omitempty"` // SHA-256 of the user data that fetched the payload
	// the last step that this join, or its latest run, has completed
	LastStep   string   `json:"lastStep,omitempty"`
	NextStep   string   `json:"nextStep,omitempty"`   // the step after LastStep
	Completed  []string `json:"completed,omitempty"`  // all steps that the host has completed since it joined
	Registered bool     `json:"registered,omitempty"` // the Node has been Ready
	// boot ID of the boot that a reboot must end, because of its kernel arguments
	RebootNeeded string    `json:"rebootNeeded,omitempty"`
	Started      time.Time `json:"started"`
	Finished     time.Time `json:"finished,omitzero"` // zero while the join is unfinished
	Leaving      time.Time `json:"leaving,omitzero"`  // start of the unfinished leave

	Upgrade *Upgrade `json:"upgrade,omitempty"` // the unfinished upgrade; nil if there is none

	Staged *Staged `json:"staged,omitempty"` // what upgrade --stage has prepared; nil if nothing

	Runs          int                        `json:"runs,omitempty"`          // number of completed runs of join
	StepDurations map[string]config.Duration `json:"stepDurations,omitempty"` // of the last completed run of join
}

// Exists reports whether a join was ever started on this host.
func (s State) Exists() bool { return !s.Started.IsZero() }

// SetSource sets the cluster and NodePool to those of the user data. It does
// nothing if userData is nil.
func (s *State) SetSource(userData *ignition.UserData) {
	if userData == nil {
		return
	}
	s.Endpoint, s.Hosted = userData.Source.Host, userData.IsHosted()
	s.NodePool, s.ConfigHash = userData.NodePool(), userData.ConfigHash()
}

// SetAPIServer sets the URL of the API server, which is no former one then.
func (s *State) SetAPIServer(server string) {
	s.APIServer = server
	s.FormerAPIServers = slices.DeleteFunc(slices.Clone(s.FormerAPIServers), func(former string) bool {
		return former == server
	})
}

// MoveAPIServer records that the API server has moved to a URL.
func (s *State) MoveAPIServer(server string) {
	if former := s.APIServer; former != server && !slices.Contains(s.FormerAPIServers, former) {
		s.FormerAPIServers = append(slices.Clone(s.FormerAPIServers), former)
	}
	s.SetAPIServer(server)
}

// Read reads the state. A missing file yields the zero State and no error. A state of another version
// of the agent is an error.
func Read(dir string) (State, error) {
	content, err := os.ReadFile(filepath.Join(dir, StateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return State{}, report.Fail(report.Refused, "# run the same command with sudo",
			"root is required: reading the state of the join: %w", err)
	}
	if err != nil {
		return State{}, fmt.Errorf("reading the state of the join: %w", err)
	}
	var state State
	if err := report.Decode(kindState, content, &state); err != nil {
		return State{}, fmt.Errorf("reading the state of the join: %s: %w", filepath.Join(dir, StateFile), err)
	}
	return state, nil
}

// SaveDocument writes one of the agent's own documents durably. Its TypeMeta is set.
func SaveDocument(dir, name string, document any) error {
	content, err := report.Encode(document)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	return SaveFile(dir, name, content)
}

// LoadDocument reads one of the agent's own documents of a kind. It reports whether the file exists. It refuses a
// document of another version of the agent.
func LoadDocument(dir, name, kind string, document any) (bool, error) {
	content, err := LoadFile(dir, name)
	if err != nil || content == nil {
		return false, err
	}
	return true, decode(name, kind, content, document)
}

// decode decodes the content of a document.
func decode(name, kind string, content []byte, document any) error {
	if err := report.Decode(kind, content, document); err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return nil
}

// SaveFile writes one of the agent's own files.
func SaveFile(dir, name string, content []byte) error {
	if err := hostfs.WritePrivate(dir, name, content); err != nil {
		return fmt.Errorf("saving %s: %w", name, err)
	}
	return nil
}

// Write writes the state durably.
func Write(dir string, state State) error {
	state.TypeMeta = report.Meta(kindState)
	return SaveDocument(dir, StateFile, state)
}

// RemoveFiles removes files of the agent durably. Missing files are no error.
func RemoveFiles(dir string, names ...string) error {
	paths := make([]string, 0, len(names))
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	return hostfs.RemoveSynced(paths...)
}

// LoadFile reads one of the agent's own files. It returns nil if the file does not
// exist.
func LoadFile(dir, name string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return content, nil
}

// CheckMachineID fails if the state was written on another machine.
func CheckMachineID(state State, machine, dir string) error {
	if state.MachineID == "" || state.MachineID == machine {
		return nil
	}
	return report.Fail(report.Refused,
		report.Remedyf("# only if this machine was cloned from a node, because the directory "+
			"is required to restore a host; then join again:\nmv %[1]s %[1]s.clone", dir),
		"the state in %s was written by another machine (machine-id %s)", dir, state.MachineID)
}
