// SPDX-License-Identifier: Apache-2.0

package crio

import (
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// dropIn is the agent's CRI-O configuration file. CRI-O reads the files of this directory
// in order of their names, and later files override earlier ones.
const dropIn = "/etc/crio/crio.conf.d/99-hcp-node-agent.conf"

// Config is the part of CRI-O's configuration that the agent uses.
type Config struct {
	PauseImage    string
	PauseCommand  string
	PauseAuthFile string
	NetworkDir    string
	Runtime       string // default_runtime
}

type document struct {
	Crio struct {
		Image struct {
			PauseImage    *string `toml:"pause_image"`
			PauseCommand  *string `toml:"pause_command"`
			PauseAuthFile *string `toml:"pause_image_auth_file"`
		} `toml:"image"`
		Network struct {
			NetworkDir *string `toml:"network_dir"`
		} `toml:"network"`
		Runtime struct {
			DefaultRuntime *string `toml:"default_runtime"`
		} `toml:"runtime"`
	} `toml:"crio"`
}

// Parse parses configuration files in order. Later files override earlier ones.
func Parse(files ...[]byte) (Config, error) {
	var config Config
	for _, content := range files {
		var doc document
		if err := toml.Unmarshal(content, &doc); err != nil {
			return config, fmt.Errorf("reading CRI-O configuration: %w", err)
		}
		for _, field := range []struct {
			from *string
			to   *string
		}{
			{doc.Crio.Image.PauseImage, &config.PauseImage},
			{doc.Crio.Image.PauseCommand, &config.PauseCommand},
			{doc.Crio.Image.PauseAuthFile, &config.PauseAuthFile},
			{doc.Crio.Network.NetworkDir, &config.NetworkDir},
			{doc.Crio.Runtime.DefaultRuntime, &config.Runtime},
		} {
			if field.from != nil {
				*field.to = *field.from
			}
		}
	}
	return config, nil
}

// render returns the content of the agent's drop-in.
func render(config Config) []byte {
	var out strings.Builder
	out.WriteString("# Written by hcp-node-agent: the pause image of the cluster's release.\n[crio.image]\n")
	for _, line := range []struct{ key, value string }{
		{"pause_image", config.PauseImage},
		{"pause_image_auth_file", config.PauseAuthFile},
		{"pause_command", config.PauseCommand},
	} {
		if line.value != "" {
			fmt.Fprintf(&out, "%s = %s\n", line.key, quote(line.value))
		}
	}
	return []byte(out.String())
}

// quote returns a TOML basic string.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}
