// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Generation describes what a node was joined with or upgraded to. It contains everything that later
// runs use, except for the changes in the ledger.
type Generation struct {
	report.TypeMeta
	Config              config.Join       `json:"config"`
	Endpoint            string            `json:"endpoint,omitempty"`
	NodePool            string            `json:"nodePool,omitempty"`
	ConfigHash          string            `json:"configHash,omitempty"`
	PayloadDigest       string            `json:"payloadDigest,omitempty"`
	PayloadConfigHash   string            `json:"payloadConfigHash,omitempty"`
	PayloadSourceDigest string            `json:"payloadSourceDigest,omitempty"`
	Files               map[string][]byte `json:"files"` // contents of generationFiles by name
	// SHA-256 of Files; PayloadDigest is that of the served payload
	FilesDigest string `json:"filesDigest"`
}

// kindGeneration is the kind of the files with generations.
const kindGeneration = "Generation"

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
	g.TypeMeta, g.FilesDigest = report.Meta(kindGeneration), g.digestFiles()
	return SaveDocument(dir, name, g)
}

// LoadGeneration reads a generation from a file in dir. It returns nil if the file does not exist, and
// an error if the file is damaged or another version of the agent wrote it.
func LoadGeneration(dir, name string) (*Generation, error) {
	var g Generation
	if exists, err := LoadDocument(dir, name, kindGeneration, &g); err != nil || !exists {
		return nil, err
	}
	for file := range g.Files {
		if !slices.Contains(generationFiles, file) {
			return nil, fmt.Errorf("reading %s: %w", name,
				report.RefuseFormat("this version of the agent does not know the file %q in it", file))
		}
	}
	if len(g.Files[PayloadFile]) == 0 || g.FilesDigest != g.digestFiles() {
		return nil, report.Fail(report.Refused,
			"hcp-node-agent upgrade --user-data USER_DATA # with the current user data of the NodePool",
			"reading %s: the file is damaged: its payload is missing or does not match the digest; nothing was changed", name)
	}
	_, err := g.Software()
	if err = cmp.Or(err, g.checkOverrides()); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return &g, nil
}

// digestFiles returns the SHA-256 of the names and contents of the files.
func (g Generation) digestFiles() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(g.Files)) {
		fmt.Fprintf(sum, "%s %d\n", name, len(g.Files[name]))
		sum.Write(g.Files[name])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// IsSame reports whether the installation of g instead of other would change nothing: both have the same
// served payload, overrides, software and settings.
func (g Generation) IsSame(other Generation) bool {
	settings := func(c config.Join) config.Join {
		c.UserData, c.Timeout = "", 0 // they belong to a run
		return c
	}
	return g.PayloadDigest == other.PayloadDigest && reflect.DeepEqual(settings(g.Config), settings(other.Config)) &&
		bytes.Equal(g.Files[OverridesFile], other.Files[OverridesFile]) &&
		bytes.Equal(g.Files[SoftwareFile], other.Files[SoftwareFile])
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
	state.PayloadDigest, state.PayloadConfigHash, state.PayloadSourceDigest = g.PayloadDigest, g.PayloadConfigHash,
		g.PayloadSourceDigest
	return Write(dir, *state)
}
