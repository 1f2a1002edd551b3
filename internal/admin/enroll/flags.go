// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"crypto/sha512"
	"encoding/hex"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/connect"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/site"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/rhcos"
)

// Flags are the flags of an enrollment. Read sets the Options that others of them name.
type Flags struct {
	Options

	NodesFile, SiteFile, UserDataFile, CAFile string // the first two can be - for standard input
	AgentURL, AgentSHA512                     string
}

// Read reads the files, and parses nodes, each in the form of an argument. It returns findings about the nodes.
func (f *Flags) Read(nodes []string, stdin io.Reader) ([]report.Finding, error) {
	if err := f.readSite(stdin); err != nil {
		return nil, err
	}
	if err := f.readAgent(); err != nil {
		return nil, err
	}
	if err := f.readNodes(nodes, stdin); err != nil {
		return nil, err
	}
	findings, err := checkNodes(f.Nodes)
	if err == nil {
		err = f.checkIDs()
	}
	if err != nil {
		return nil, report.UsageError("%w", err)
	}
	if f.UserDataFile == "" {
		return findings, nil
	}
	if f.UserData, err = os.ReadFile(f.UserDataFile); err != nil {
		return nil, report.UsageError("--embed-user-data: %w", err)
	}
	_, err = ignition.ParseUserData(f.UserData)
	return findings, err
}

// readSite reads the settings of the site, and checks that the format uses them and the file for all hosts.
func (f *Flags) readSite(stdin io.Reader) (err error) {
	if f.SiteFile != "" {
		if !f.Input.NeedsUserData() {
			return report.UsageError("--site-config requires a --format other than dir")
		}
		if f.Input.Site, _, err = ReadSite("--site-config", f.SiteFile, stdin); err != nil {
			return err
		}
	}
	if f.Input.ForAll != "" && f.Input.Format != CloudInit && f.Input.Format != Kickstart {
		return report.UsageError("--one-file requires --format cloud-init or kickstart")
	}
	return nil
}

// readAgent sets the binary that Ignition downloads.
func (f *Flags) readAgent() error {
	switch {
	case f.AgentURL == "" && f.AgentSHA512 == "":
		return nil
	case f.Input.Format != Ignition:
		return report.UsageError("--agent-url and --agent-sha512 require --format ignition")
	case f.AgentSHA512 == "":
		return report.UsageError("--agent-url requires --agent-sha512, with which the host verifies the binary")
	case f.AgentURL == "":
		return report.UsageError("--agent-sha512 requires --agent-url")
	}
	if sum, err := hex.DecodeString(f.AgentSHA512); err != nil || len(sum) != sha512.Size {
		return report.UsageError("--agent-sha512: the value is not %d hexadecimal digits", 2*sha512.Size)
	}
	f.Input.Agent = &rhcos.Binary{URL: f.AgentURL, SHA512: strings.ToLower(f.AgentSHA512)}
	download, err := url.Parse(f.AgentURL)
	switch { // the errors do not contain the URL, whose query can be a credential
	case err != nil:
		return report.UsageError("--agent-url: the value is not a valid URL")
	case download.Scheme != "https" && download.Scheme != "http":
		return report.UsageError("--agent-url: the scheme is %q; https and http are supported", download.Scheme)
	case download.Hostname() == "":
		return report.UsageError("--agent-url: the URL contains no host")
	}
	return nil
}

// readNodes adds the nodes of arguments and of the file.
func (f *Flags) readNodes(arguments []string, stdin io.Reader) error {
	for _, argument := range arguments {
		node, err := ParseNode(argument)
		if err != nil {
			return report.UsageError("%s: %w", argument, err)
		}
		f.Nodes = append(f.Nodes, node)
	}
	if f.NodesFile == "" {
		return nil
	}
	content, err := readInput("--filename", f.NodesFile, stdin)
	if err != nil {
		return err
	}
	more, err := ParseNodes(content)
	if err != nil {
		return report.UsageError("--filename: %s: %w", f.NodesFile, err)
	}
	f.Nodes = append(f.Nodes, more...)
	return nil
}

// Offline creates the join tokens and manifests of the nodes that were read. The CAs of the cluster are those of
// CAFile, else of the kubeconfig of the hosted cluster.
func (f *Flags) Offline(clusters *connect.Clusters, now time.Time) (Result, error) {
	ca, err := f.readCA(clusters)
	if err != nil {
		return Result{}, err
	}
	if _, err := enrollment.CAHashes(ca); err != nil {
		return Result{}, report.UsageError("%w", err)
	}
	switch input := &f.Input; {
	case input.NeedsUserData() && f.UserData == nil:
		return Result{}, report.UsageError("--offline with --format %s requires --embed-user-data: the host gets no other "+
			"input at its first boot", input.Format)
	case input.NeedsSite() && input.Site == nil:
		return Result{}, report.UsageError("--offline with --format %s requires --site-config: a host needs more than its "+
			"join token to become a node", input.Format)
	case input.Site == nil:
		input.Site = &site.Config{}
	}
	return Offline(f.Options, ca, now)
}

func (f *Flags) readCA(clusters *connect.Clusters) ([]byte, error) {
	if f.CAFile != "" {
		ca, err := os.ReadFile(f.CAFile)
		if err != nil {
			return nil, report.UsageError("--ca: %w", err)
		}
		return ca, nil
	}
	selected, err := cluster.Select(clusters.HostedKubeconfig, "", clusters.Stdin)
	if err != nil {
		return nil, err
	}
	return cluster.CAOf(selected.Kubeconfig)
}

// ReadSite returns the settings of a site from the file of a flag, and its content.
func ReadSite(flag, file string, stdin io.Reader) (*site.Config, []byte, error) {
	content, err := readInput(flag, file, stdin)
	if err != nil {
		return nil, nil, err
	}
	settings, err := site.Parse(content)
	if err != nil {
		return nil, nil, report.UsageError("%s: %s: %w", flag, file, err)
	}
	return settings, content, nil
}

// readInput returns the content of the file of a flag, or of standard input if the name is -.
func readInput(flag, name string, stdin io.Reader) (content []byte, err error) {
	const limit = 32 << 20
	if name == "-" {
		content, err = io.ReadAll(io.LimitReader(stdin, limit))
	} else {
		content, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, report.UsageError("%s: %w", flag, err)
	}
	return content, nil
}
