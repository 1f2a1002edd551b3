// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/hcp-node-agent/hcp-node-agent/internal/rhcos"
)

// hostFiles returns all files of a host with packages. The join token is the last, because the service joins with it.
func (c *Config) hostFiles(token []byte) ([]rhcos.File, error) {
	files, err := c.files(c.Settings)
	files = append(files, c.repositoryFiles()...)
	return append(files, rhcos.File{Path: rhcos.JoinTokenPath, Mode: 0o600, Content: token}), err
}

type (
	cloudConfig struct {
		Hostname string      `yaml:"hostname"`
		FQDN     string      `yaml:"fqdn"` // which cloud-init prefers on RHEL
		Files    []writeFile `yaml:"write_files"`
		RunCmd   []string    `yaml:"runcmd"`
	}
	writeFile struct {
		Path        string `yaml:"path"`
		Permissions string `yaml:"permissions"`
		Content     string `yaml:"content"`
	}
)

// CloudInit returns the user data of cloud-init for a host, which is a secret. The commands install the agent, because
// the module for packages runs before the registration.
func (c *Config) CloudInit(name string, token []byte) ([]byte, error) {
	files, err := c.hostFiles(token)
	if err != nil {
		return nil, err
	}
	document := cloudConfig{Hostname: name, FQDN: name, RunCmd: []string{"set -e\n" + c.commands()}}
	for _, file := range files {
		document.Files = append(document.Files, writeFile{
			Path: file.Path, Permissions: fmt.Sprintf("%04o", file.Mode), Content: string(file.Content),
		})
	}
	content := bytes.NewBufferString("#cloud-config\n# A secret: makes host " + name + " a node. Progress: systemctl " +
		"status hcp-node-agent\n")
	encoder := yaml.NewEncoder(content)
	encoder.SetIndent(2)
	err = encoder.Encode(document)
	return content.Bytes(), err
}

// Script returns a shell script that makes an installed host a node, and can be run again. It is a secret.
func (c *Config) Script(name string, token []byte) ([]byte, error) {
	files, err := c.hostFiles(token)
	return append(newScript("#!/bin/sh", "host "+name, files), c.commands()...), err
}

// kickstart is the header of a section that runs in the installed system. dnf runs in the section, because Anaconda
// does not check the signatures of packages that it installs.
const kickstart = "%post --erroronfail"

// Kickstart returns the section of a kickstart file that makes the installed host a node at its first boot. It is a
// secret.
func (c *Config) Kickstart(name string, token []byte) ([]byte, error) {
	files, err := c.hostFiles(token)
	files = append([]rhcos.File{{Path: "/etc/hostname", Mode: 0o644, Content: []byte(name + "\n")}}, files...)
	return append(newScript(kickstart, "host "+name, files), c.commands()+"%end\n"...), err
}

// newScript returns the begin of a shell script, which writes files.
func newScript(header, hosts string, files []rhcos.File) []byte {
	script := fmt.Appendf(nil, "%s\n# A secret: makes %s a node. Progress: systemctl status hcp-node-agent\nset -e\n"+
		"file() (umask 077; mkdir -p \"${2%%/*}\"; cat >\"$2\"; chmod \"$1\" \"$2\")\n", header, hosts)
	for _, file := range files {
		script = appendFile(script, file)
	}
	return script
}

func appendFile(script []byte, file rhcos.File) []byte {
	return fmt.Appendf(script, "file %04o %s <<'END_OF_FILE'\n%s\nEND_OF_FILE\n", file.Mode, file.Path,
		bytes.TrimRight(file.Content, "\n"))
}
