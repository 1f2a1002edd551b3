// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Options describes the enrollments of nodes.
type Options struct {
	NodePool       string
	Nodes          []Node
	Dir            string // of the files
	Labels, Taints []string
	Lifetime       time.Duration // 0: the default
	UserData       []byte        // for all join tokens; nil for none
	Reinstall      v1alpha1.ReinstallPolicy
	Input          HostInput
}

// State describes what was done for a node.
type State string

// States of an enrollment.
const (
	Created    State = "created"
	Completed  State = "completed"  // a part that was missing was added
	Existing   State = "existing"   // nothing was changed
	Incomplete State = "incomplete" // the run has failed for this node
)

// Enum returns all states.
func (State) Enum() []string { return schema.Strings(Created, Completed, Existing, Incomplete) }

// Enrolled is an enrolled node with its files. A path is empty if there is no such file.
type Enrolled struct {
	enrollment.Summary
	State             State      `json:"state" doc:"created; completed: a part that was missing was added; existing: nothing was changed; incomplete: it has failed"`
	TokenFile         string     `json:"joinTokenFile,omitempty" doc:"path of the join token, which is a secret"`
	HostFile          string     `json:"hostFile,omitempty" doc:"path of the input for the first boot of the host, which is a secret"`
	EnrollmentFile    string     `json:"enrollmentFile,omitempty" doc:"path of the manifest of the NodeEnrollment"`
	CredentialExpires *time.Time `json:"credentialExpires,omitempty" doc:"time until which the host can get the user data from the hosted cluster"`
}

// Result describes the enrolled nodes, also after an error.
type Result struct {
	Server    string           `json:"server,omitempty" doc:"URL of the hosted cluster; absent with --offline"`
	Enrolled  []Enrolled       `json:"enrollments" doc:"enrollments, in the order of the nodes"`
	Inventory string           `json:"inventoryFile,omitempty" doc:"path of the inventory of Ansible"`
	ForAll    string           `json:"oneFile,omitempty" doc:"path of the file for all hosts, which is a secret"`
	Findings  []report.Finding `json:"findings" doc:"findings about names, addresses and user data"`
}

// tokenOptions returns the options for the join token of a node.
func (o Options) tokenOptions(node Node, ca []byte) enrollment.Options {
	return enrollment.Options{
		NodeName: node.Name, Addresses: node.Addresses, ClusterCA: ca, NodePool: o.NodePool, Labels: o.Labels,
		Taints: o.Taints, UserData: o.UserData, Lifetime: o.Lifetime, Reinstall: o.Reinstall,
	}
}

// checkIDs fails if one file is requested for all hosts, and a host could not find its entry.
func (o Options) checkIDs() error {
	for _, node := range o.Nodes {
		if o.Input.ForAll != "" && len(node.ids()) == 0 {
			return fmt.Errorf("node %s has neither an address nor a serial number, by which its machine finds its entry in %s",
				node.Name, o.Input.ForAll)
		}
	}
	return nil
}

// Offline creates the join tokens and manifests of nodes for the cluster with these CAs. It connects to no cluster. The
// files of a node are never replaced.
func Offline(options Options, ca []byte, now time.Time) (Result, error) {
	result := Result{Findings: options.Input.missing()}
	for _, node := range options.Nodes {
		enrolled, err := options.offline(node, ca, now)
		if err != nil {
			return result, err
		}
		result.Enrolled = append(result.Enrolled, enrolled)
	}
	return result, errors.Join(options.writeForAll(&result), options.writeInventory(&result))
}

func (o Options) offline(node Node, ca []byte, now time.Time) (Enrolled, error) {
	if existing := existingFiles(o.Dir, node.Name); len(existing) > 0 {
		return describeExisting(o.Dir, node, now), nil
	}
	token, record, err := enrollment.New(o.tokenOptions(node, ca), now)
	if err != nil {
		return Enrolled{}, report.UsageError("%w", err)
	}
	public, err := enrollment.ManifestFile(o.Dir, record)
	if err != nil {
		return Enrolled{}, err
	}
	secret, err := enrollment.TokenFile(o.Dir, token)
	if err != nil {
		return Enrolled{}, err
	}
	files := []enrollment.File{public, secret}
	host, hasHost, err := o.Input.file(o.Dir, token, o.UserData, nil)
	if err != nil {
		return Enrolled{}, err
	}
	if hasHost {
		files = append(files, host)
	}
	enrolled := Enrolled{
		Summary: token.Summarize(now), State: Created, TokenFile: secret.Path, HostFile: host.Path,
		EnrollmentFile: public.Path,
	}
	enrolled.Addresses = enrollment.FormatAddresses(node.Addresses)
	return enrolled, enrollment.Create(files...)
}

// existingFiles returns the paths of the files of a node that exist.
func existingFiles(dir, node string) []string {
	token, record := enrollment.Paths(dir, node)
	paths := []string{token, record}
	for _, format := range Formats() {
		if suffix := (HostInput{Format: Format(format)}).suffix(); suffix != "" {
			paths = append(paths, enrollment.HostPath(dir, node, suffix))
		}
	}
	var existing []string
	for _, path := range paths {
		if _, err := os.Lstat(path); err == nil {
			existing = append(existing, path)
		}
	}
	return existing
}

// describeExisting describes a node whose files are kept.
func describeExisting(dir string, node Node, now time.Time) Enrolled {
	enrolled := Enrolled{State: Existing}
	token, record := enrollment.Paths(dir, node.Name)
	for _, path := range existingFiles(dir, node.Name) {
		switch path {
		case token:
			enrolled.TokenFile = path
		case record:
			enrolled.EnrollmentFile = path
		default:
			enrolled.HostFile = path
		}
	}
	if content, err := os.ReadFile(token); err == nil {
		enrolled.Summary, _ = enrollment.ParseSummary(content, now) // token show reports a file that is no join token
	}
	enrolled.NodeName = node.Name
	return enrolled
}

// writeInventory writes the inventory of Ansible, if that is the format.
func (o Options) writeInventory(result *Result) error {
	if o.Input.Format != Ansible {
		return nil
	}
	content, err := inventory(o.Nodes)
	if err != nil {
		return err
	}
	result.Inventory = filepath.Join(o.Dir, "inventory.yaml")
	return nodepool.WriteFile(result.Inventory, content, true)
}
