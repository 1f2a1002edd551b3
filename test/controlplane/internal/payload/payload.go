// Package payload builds what the ignition server serves: an Ignition config
// in the shape of a real NodePool's. The contents are the bed's own, in the
// folders files and units; differences.go lists where and why they are not
// what a real cluster serves.
package payload

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
)

// Inputs is what of the cluster goes into the payload.
type Inputs struct {
	APIName            string // DNS name of the API
	InternalAPIAddress string // where the node's own API proxy listens
	Registry           string // host:port, plain HTTP
	ReleaseRepository  string // where the release's images would be
	PauseImage         string // by digest
	APIProxyImage      string // by digest
	PullSecret         string // .dockerconfigjson
	KubeletCA          []byte // PEM, the client CAs
	BootstrapConfig    []byte // the bootstrap kubeconfig
	SSHKey             string // of the user core
}

// Payload is a served body.
type Payload struct {
	Body []byte
	// Hash is the NodePool's target config version: eight hex digits.
	Hash string
}

// Build makes the payload.
func Build(in Inputs) (Payload, error) {
	source, err := load(in)
	if err != nil {
		return Payload{}, err
	}
	if err := source.fit(Differences(), in); err != nil {
		return Payload{}, err
	}
	// "master" although it is a worker's: the only pool that the server knows
	// in the mode in which HyperShift runs it.
	config, rendered, err := source.served(in, "master")
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

// fit makes the differences.
func (s *source) fit(differences []Difference, in Inputs) error {
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

// served is the config as the machine-config server gives it for a pool, and
// what was rendered before the server added to it.
func (s *source) served(in Inputs, pool string) (config Config, rendered []byte, err error) {
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
