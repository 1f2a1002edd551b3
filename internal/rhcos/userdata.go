// SPDX-License-Identifier: Apache-2.0

package rhcos

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

const settingsDir = "/etc/hcp-node-agent"

// JoinTokenPath is the path of the join token with which the service joins.
const JoinTokenPath = settingsDir + "/node.token"

// File is a file that a host gets at its first boot.
type File struct {
	Path    string
	Mode    int
	Content []byte
}

// Binary is the location of the agent's binary, from which Ignition installs it at AgentPath.
type Binary struct {
	URL    string
	SHA512 string // hexadecimal digits
}

// The parts of an Ignition config that UserData adds. They exist in all specs from 3.0.
type (
	storage struct {
		Directories []entry `json:"directories"`
		Files       []entry `json:"files"`
	}
	entry struct {
		Path      string    `json:"path"`
		Mode      int       `json:"mode"`
		Overwrite bool      `json:"overwrite,omitempty"`
		Contents  *resource `json:"contents,omitempty"`
	}
	resource struct {
		Source       string        `json:"source"`
		Verification *verification `json:"verification,omitempty"`
	}
	verification struct {
		Hash string `json:"hash"`
	}
	systemdUnits struct {
		Units []unit `json:"units"`
	}
	unit struct {
		Name     string   `json:"name"`
		Enabled  bool     `json:"enabled,omitempty"`
		Contents string   `json:"contents,omitempty"`
		Dropins  []dropIn `json:"dropins,omitempty"`
	}
	dropIn struct {
		Name     string `json:"name"`
		Contents string `json:"contents"`
	}
)

// UserData returns user data for the first boot of one host: the user data of the NodePool with the join token, other
// files, the agent's unit and the drop-in for kubelet. The function ignition.ParseUserData must accept the given user
// data. Its section "ignition" remains unchanged, with the spec version. If agent is nil, the image of the host must
// contain the agent and its unit. The result is a secret, because it contains the join token.
func UserData(userData, joinToken []byte, others []File, agent *Binary) ([]byte, error) {
	var config map[string]json.RawMessage
	if err := json.Unmarshal(userData, &config); err != nil {
		return nil, fmt.Errorf("reading the user data: %w", err)
	}
	files := storage{
		Directories: []entry{{Path: settingsDir, Mode: 0o700}},
		Files:       []entry{newFile(JoinTokenPath, 0o600, resource{Source: dataURL(joinToken)})},
	}
	for _, file := range others {
		files.Files = append(files.Files, newFile(file.Path, file.Mode, resource{Source: dataURL(file.Content)}))
	}
	service := unit{Name: agentUnit, Enabled: true}
	if agent != nil {
		service.Contents = AgentService()
		files.Files = append(files.Files, newFile(AgentPath, 0o755, resource{
			Source:       agent.URL,
			Verification: &verification{Hash: "sha512-" + agent.SHA512},
		}))
	}
	units := systemdUnits{Units: []unit{
		service,
		{Name: kubeletUnit, Dropins: []dropIn{{Name: dropInName, Contents: KubeletDropIn}}},
	}}
	// Both sections of user data are empty or missing.
	for name, section := range map[string]any{"storage": files, "systemd": units} {
		encoded, err := encode(section)
		if err != nil {
			return nil, err
		}
		config[name] = encoded
	}
	return encode(config)
}

// WithoutPayload returns the user data of a NodePool without the ignition server, whose token is valid for hours only.
// The spec version remains, and the proxy and the CAs with which Ignition downloads the agent.
func WithoutPayload(userData []byte) ([]byte, error) {
	var kept struct {
		Ignition map[string]json.RawMessage `json:"ignition"`
	}
	if err := json.Unmarshal(userData, &kept); err != nil {
		return nil, fmt.Errorf("reading the user data: %w", err)
	}
	delete(kept.Ignition, "config")
	return encode(kept)
}

// newFile returns a file that replaces an existing one: a partition that survives an installation can contain the files
// of an earlier node.
func newFile(path string, mode int, contents resource) entry {
	return entry{Path: path, Mode: mode, Overwrite: true, Contents: &contents}
}

func dataURL(content []byte) string {
	return "data:;base64," + base64.StdEncoding.EncodeToString(content)
}

// encode returns JSON without escapes for HTML, which would make the units longer and unreadable.
func encode(value any) ([]byte, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encoding the user data: %w", err)
	}
	return encoded.Bytes(), nil
}
