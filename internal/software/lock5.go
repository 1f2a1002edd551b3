// SPDX-License-Identifier: Apache-2.0

package software

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/BurntSushi/toml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
)

// locks5 is the list of locks of dnf5, dnf5-versionlock(8). Like dnf5, the agent writes the whole list, without
// comments of TOML.
type locks5 struct {
	Version  string  `toml:"version"`
	Packages []lock5 `toml:"packages"`
}

// lock5 locks a package. All conditions must be true for a version that dnf5 can install.
type lock5 struct {
	Name       string       `json:"name" toml:"name"`
	Comment    string       `json:"comment,omitempty" toml:"comment,omitempty"`
	Conditions []condition5 `json:"conditions" toml:"conditions"`
}

type condition5 struct {
	Key        string `json:"key" toml:"key"`
	Comparator string `json:"comparator" toml:"comparator"`
	Value      string `json:"value" toml:"value"`
}

// lockEntry5 returns the JSON document of the entry that locks the version of a package.
func lockEntry5(p dnf.Package) string {
	return lock5{
		Name:       p.Name,
		Comment:    "the release of the cluster; set by hcp-node-agent",
		Conditions: []condition5{{Key: "evr", Comparator: "=", Value: p.Version + "-" + p.Release}},
	}.String()
}

// String returns the JSON document of the entry.
func (l lock5) String() string {
	document, _ := json.Marshal(l) // strings can be encoded
	return string(document)
}

// locksOf5 returns the JSON documents of the entries of a package.
func locksOf5(content, name string) ([]string, error) {
	list, err := parseLocks5(content)
	var entries []string
	for _, one := range list.Packages {
		if one.Name == name {
			entries = append(entries, one.String())
		}
	}
	return entries, err
}

// replaceLocks5 returns the list with other entries of a package, "" without any entry.
func replaceLocks5(content, name string, entries []string) (string, error) {
	list, err := parseLocks5(content)
	if err != nil {
		return "", err
	}
	list.Packages = slices.DeleteFunc(list.Packages, func(one lock5) bool { return one.Name == name })
	for _, entry := range entries {
		var one lock5
		if err := json.Unmarshal([]byte(entry), &one); err != nil {
			return "", fmt.Errorf("decoding the version lock %s: %w", entry, err)
		}
		list.Packages = append(list.Packages, one)
	}
	if len(list.Packages) == 0 {
		return "", nil
	}
	var out bytes.Buffer
	encoder := toml.NewEncoder(&out)
	encoder.Indent = ""
	err = encoder.Encode(list)
	return out.String(), err
}

func parseLocks5(content string) (locks5, error) {
	list := locks5{Version: "1.0"}
	if _, err := toml.Decode(content, &list); err != nil {
		return list, fmt.Errorf("parsing %s: %w", dnf.LockFile5, err)
	}
	return list, nil
}
