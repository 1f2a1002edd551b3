// SPDX-License-Identifier: Apache-2.0

// Package payload builds the payload of the Ignition server: an Ignition config with the
// structure of a real NodePool's. Its contents are templates in the directories files and units;
// differences.go lists all differences from a real cluster's payload, with reasons.
package payload

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/stack"
)

// Inputs are the cluster-specific values of the payload.
type Inputs struct {
	APIName           string // DNS name of the API
	Stack             stack.Stack
	Registry          string // host:port, plain HTTP
	ReleaseRepository string // repository of the release's images
	PauseImage        string // by digest
	OSImage           string // by digest
	APIProxyImage     string // by digest
	PullSecret        string // .dockerconfigjson
	KubeletCA         []byte // PEM, the client CAs
	BootstrapConfig   []byte // the bootstrap kubeconfig
	SSHKey            string // for user core
}

// Payload is the rendered payload and its hash.
type Payload struct {
	Body []byte
	// Hash is the NodePool's target config version: eight hex digits.
	Hash string
}

// Build renders the payload.
func Build(in Inputs) (Payload, error) {
	source, err := load(in)
	if err != nil {
		return Payload{}, err
	}
	if err := source.apply(Differences(), in); err != nil {
		return Payload{}, err
	}
	// The pool is "master" although the node is a worker: in the mode in which HyperShift runs
	// the server it supports only this pool.
	config, rendered, err := source.servedConfig(in, "master")
	if err != nil {
		return Payload{}, err
	}
	body, err := json.Marshal(config)
	if err != nil {
		return Payload{}, fmt.Errorf("encoding the payload: %w", err)
	}
	hash := fnv.New32a()
	hash.Write(rendered)
	return Payload{Body: body, Hash: fmt.Sprintf("%08x", hash.Sum32())}, nil
}

// apply applies the differences.
func (s *source) apply(differences []Difference, in Inputs) error {
	for _, d := range differences {
		if d.apply == nil {
			continue
		}
		if err := d.apply(s, in); err != nil {
			return fmt.Errorf("making the payload fit for the test machine (%s): %w", d.What, err)
		}
	}
	return nil
}

// servedConfig returns the config that the machine-config server returns for a pool, and the
// rendered config before the server's additions.
func (s *source) servedConfig(in Inputs, pool string) (config Config, rendered []byte, err error) {
	config = Config{
		Ignition: Version{"3.2.0"},
		Passwd:   Passwd{Users: []User{{Name: "core", SSHAuthorizedKeys: []string{in.SSHKey}}}},
		Systemd:  Systemd{Units: s.units},
	}
	for _, f := range s.files {
		if config.Storage.Files, err = appendFile(config.Storage.Files, f); err != nil {
			return config, nil, err
		}
	}
	if rendered, err = json.Marshal(config); err != nil {
		return config, nil, fmt.Errorf("encoding the rendered config: %w", err)
	}
	added, err := appended(config, rendered, in, pool)
	if err != nil {
		return config, nil, err
	}
	for _, f := range added {
		if config.Storage.Files, err = appendFile(config.Storage.Files, f); err != nil {
			return config, nil, err
		}
	}
	return config, rendered, nil
}

func appendFile(files []File, f sourceFile) ([]File, error) {
	contents, err := f.encoding.encode(f.content)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", f.path, err)
	}
	return append(files, File{Overwrite: true, Path: f.path, Contents: contents, Mode: f.mode}), nil
}
