// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/rhcos"
)

// firstBootOptions are the flags of token create for user data with which a host enrolls at its first boot.
type firstBootOptions struct {
	system, agentURL, agentSHA512 string
}

// firstBootSystems are the values of --for.
var firstBootSystems = []string{"rhcos"}

func (o *firstBootOptions) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&o.system, "for", "",
		"also write user data with which each host enrolls at its first boot; `SYSTEM` is rhcos (RHEL CoreOS); "+
			"requires --embed-user-data")
	cli.CompleteFlag(c, "for", cli.CompleteValue(firstBootSystems))
	flags.StringVar(&o.agentURL, "agent-url", "",
		"`URL` (https or http) from which Ignition downloads the binary hcp-node-agent, for an image that does not "+
			"contain it; requires --for and --agent-sha512")
	flags.StringVar(&o.agentSHA512, "agent-sha512", "",
		"SHA-512 of the binary in `HEX`, as sha512sum prints it, which Ignition verifies")
}

func (o *firstBootOptions) isSet() bool { return o.system != "" }

// check returns a usage error if the flags are wrong.
func (o *firstBootOptions) check(hasUserData bool) error {
	switch {
	case o.system != "" && !slices.Contains(firstBootSystems, o.system):
		return usageError("--for: %q is not supported; the only value is rhcos", o.system)
	case o.system != "" && !hasUserData:
		return usageError("--for %s requires --embed-user-data: the host gets no other input at its first boot", o.system)
	case o.agentURL == "" && o.agentSHA512 == "":
		return nil
	case o.system == "":
		return usageError("--agent-url and --agent-sha512 require --for rhcos")
	case o.agentSHA512 == "":
		return usageError("--agent-url requires --agent-sha512, with which the host verifies the binary")
	case o.agentURL == "":
		return usageError("--agent-sha512 requires --agent-url")
	}
	if sum, err := hex.DecodeString(o.agentSHA512); err != nil || len(sum) != sha512.Size {
		return usageError("--agent-sha512: the value is not %d hexadecimal digits", 2*sha512.Size)
	}
	return checkDownloadURL("--agent-url", o.agentURL)
}

// checkDownloadURL returns an error unless a host can download files from the URL of a flag. The errors do not contain
// the URL, whose query can be a credential. A hash or a signature protects the files, so that http is sufficient.
func checkDownloadURL(flag, text string) error {
	download, err := url.Parse(text)
	switch {
	case err != nil:
		return usageError("%s: the value is not a valid URL", flag)
	case download.Scheme != "https" && download.Scheme != "http":
		return usageError("%s: the scheme is %q; https and http are supported", flag, download.Scheme)
	case download.Hostname() == "":
		return usageError("%s: the URL contains no host", flag)
	}
	return nil
}

// userData returns the user data of the host that gets the join token, nil if none was requested.
func (o *firstBootOptions) userData(token *enrollment.Token) ([]byte, error) {
	if !o.isSet() {
		return nil, nil
	}
	encoded, err := token.Encode()
	if err != nil {
		return nil, err
	}
	var agent *rhcos.Binary
	if o.agentURL != "" {
		agent = &rhcos.Binary{URL: o.agentURL, SHA512: strings.ToLower(o.agentSHA512)}
	}
	return rhcos.UserData(token.UserData, encoded, agent)
}

// printFirstBoot prints how the user data of a host is used.
func printFirstBoot(w io.Writer, path string) {
	fmt.Fprintf(w, "\n# install each host with its own Ignition config, a secret, or pass it as the cloud's user data:\n"+
		"coreos-installer install --ignition-file %s /dev/DEVICE\n", report.ShellWord(path))
}
