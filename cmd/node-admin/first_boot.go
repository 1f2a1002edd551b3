// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha512"
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enroll"
	"github.com/hcp-node-agent/hcp-node-agent/internal/rhcos"
)

// firstBootOptions are the flags of enroll for the inputs of hosts at their first boot.
type firstBootOptions struct {
	repository, agentURL, agentSHA512 string
}

func (o *firstBootOptions) add(flags *pflag.FlagSet) {
	flags.StringVar(&o.repository, "repository-url", "",
		"`URL` of the repository with the packages of the agent, for cloud-init or kickstart (default a repository that "+
			"the host already has)")
	flags.StringVar(&o.agentURL, "agent-url", "",
		"`URL` (https or http) from which Ignition downloads the binary hcp-node-agent, for an image that does not "+
			"contain it; requires --format ignition and --agent-sha512")
	flags.StringVar(&o.agentSHA512, "agent-sha512", "",
		"SHA-512 of the binary in `HEX`, as sha512sum prints it, which Ignition verifies")
}

// input returns the input of the hosts in a format, or a usage error if the flags do not match the format.
func (o *firstBootOptions) input(format enroll.Format) (enroll.HostInput, error) {
	input := enroll.HostInput{Format: format, Repository: o.repository}
	isIgnition := format == enroll.Ignition
	switch {
	case o.repository != "" && format != enroll.CloudInit && format != enroll.Kickstart:
		return input, usageError("--repository-url requires --format cloud-init or kickstart")
	case o.repository != "":
		return input, checkDownloadURL("--repository-url", o.repository)
	case o.agentURL == "" && o.agentSHA512 == "":
		return input, nil
	case !isIgnition:
		return input, usageError("--agent-url and --agent-sha512 require --format ignition")
	case o.agentSHA512 == "":
		return input, usageError("--agent-url requires --agent-sha512, with which the host verifies the binary")
	case o.agentURL == "":
		return input, usageError("--agent-sha512 requires --agent-url")
	}
	if sum, err := hex.DecodeString(o.agentSHA512); err != nil || len(sum) != sha512.Size {
		return input, usageError("--agent-sha512: the value is not %d hexadecimal digits", 2*sha512.Size)
	}
	input.Agent = &rhcos.Binary{URL: o.agentURL, SHA512: strings.ToLower(o.agentSHA512)}
	return input, checkDownloadURL("--agent-url", o.agentURL)
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
