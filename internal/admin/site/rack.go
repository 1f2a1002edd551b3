// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/rhcos"
)

// Host is an entry of a file for several hosts.
type Host struct {
	Name  string
	IDs   []string // serial number or addresses, without spaces; a machine with one of them uses the entry
	Token []byte
}

// ScriptForAll returns the script for several hosts, which cloud-init accepts as user data. It is a secret.
func (c *Config) ScriptForAll(hosts []Host) ([]byte, error) { return c.forAll("#!/bin/sh", hosts, "") }

// KickstartForAll returns the section of a kickstart file for several hosts. It is a secret.
func (c *Config) KickstartForAll(hosts []Host) ([]byte, error) {
	return c.forAll(kickstart, hosts, "%end\n")
}

// forAll returns a script that writes the files of all hosts and those of the machine's entry, sets its name, and
// continues as for one host. It fails on a machine without an entry.
func (c *Config) forAll(header string, hosts []Host, end string) ([]byte, error) {
	files, err := c.files(c.Settings)
	script := newScript(header, fmt.Sprintf("each of %d hosts", len(hosts)), append(files, c.repositoryFiles()...))
	script = append(script, "ids=\" $(cat /sys/class/dmi/id/product_serial 2>/dev/null || :) $(hostname -I) \"\n"+
		"is() { for id; do case \"$ids\" in *\" $id \"*) return 0;; esac; done; false; }\n"...)
	for i, host := range hosts {
		word := "elif"
		if i == 0 {
			word = "if"
		}
		script = fmt.Appendf(script, "%s is %s; then\nname=%s\n", word, strings.Join(host.IDs, " "), host.Name)
		script = appendFile(script, rhcos.File{Path: rhcos.JoinTokenPath, Mode: 0o600, Content: host.Token})
	}
	return append(script, "else\necho \"the file has no entry for a machine with serial number and addresses$ids\" >&2\n"+
		"exit 1\nfi\necho \"$name\" >/etc/hostname\nhostname \"$name\"\n"+c.commands()+end...), err
}
