// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha512"
	"encoding/hex"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/enroll"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/rhcos"
)

// firstBootOptions are the flags of enroll for the inputs of hosts at their first boot.
type firstBootOptions struct {
	siteFile, forAll, agentURL, agentSHA512 string
}

func (o *firstBootOptions) add(flags *pflag.FlagSet) {
	flags.StringVar(&o.siteFile, "site-config", "",
		"`FILE` with the settings of the site (default those of site apply); requires a format other than dir")
	flags.StringVar(&o.forAll, "one-file", "",
		"write one `FILE` for all hosts, in which each machine finds its entry by serial number or address; requires "+
			"--format cloud-init or kickstart")
	flags.StringVar(&o.agentURL, "agent-url", "",
		"`URL` (https or http) from which Ignition downloads the binary hcp-node-agent, for an image that does not "+
			"contain it; requires --format ignition and --agent-sha512")
	flags.StringVar(&o.agentSHA512, "agent-sha512", "",
		"SHA-512 of the binary in `HEX`, as sha512sum prints it, which Ignition verifies")
}

// input returns the input of the hosts in a format, or a usage error if the flags do not match the format.
func (o *firstBootOptions) input(format enroll.Format, stdin io.Reader) (enroll.HostInput, error) {
	input := enroll.HostInput{Format: format, ForAll: o.forAll}
	isIgnition := format == enroll.Ignition
	if o.siteFile != "" {
		if !input.NeedsUserData() {
			return input, report.UsageError("--site-config requires a --format other than dir")
		}
		var err error
		if input.Site, _, err = readSite("--site-config", o.siteFile, stdin); err != nil {
			return input, err
		}
	}
	switch {
	case o.forAll != "" && format != enroll.CloudInit && format != enroll.Kickstart:
		return input, report.UsageError("--one-file requires --format cloud-init or kickstart")
	case o.agentURL == "" && o.agentSHA512 == "":
		return input, nil
	case !isIgnition:
		return input, report.UsageError("--agent-url and --agent-sha512 require --format ignition")
	case o.agentSHA512 == "":
		return input, report.UsageError("--agent-url requires --agent-sha512, with which the host verifies the binary")
	case o.agentURL == "":
		return input, report.UsageError("--agent-sha512 requires --agent-url")
	}
	if sum, err := hex.DecodeString(o.agentSHA512); err != nil || len(sum) != sha512.Size {
		return input, report.UsageError("--agent-sha512: the value is not %d hexadecimal digits", 2*sha512.Size)
	}
	input.Agent = &rhcos.Binary{URL: o.agentURL, SHA512: strings.ToLower(o.agentSHA512)}
	download, err := url.Parse(o.agentURL)
	switch { // the errors do not contain the URL, whose query can be a credential
	case err != nil:
		return input, report.UsageError("--agent-url: the value is not a valid URL")
	case download.Scheme != "https" && download.Scheme != "http":
		return input, report.UsageError("--agent-url: the scheme is %q; https and http are supported", download.Scheme)
	case download.Hostname() == "":
		return input, report.UsageError("--agent-url: the URL contains no host")
	}
	return input, nil
}
