// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/rhcos"
)

// A Format is the form in which a host gets its join token.
type Format string

// The formats. Dir is the join token itself, which all of them write.
const (
	Dir       Format = "dir"
	CloudInit Format = "cloud-init"
	Kickstart Format = "kickstart"
	Ignition  Format = "ignition" // user data for the first boot of RHEL CoreOS
	Ansible   Format = "ansible"  // with an inventory of all hosts
)

// Formats returns the names of the formats.
func Formats() []string {
	return []string{string(Dir), string(CloudInit), string(Kickstart), string(Ignition), string(Ansible)}
}

// HostInput describes the input of the hosts.
type HostInput struct {
	Format     Format
	Repository string        // with the packages of the agent, for CloudInit and Kickstart; "" if the hosts have it
	Agent      *rhcos.Binary // for Ignition; nil if the image contains the agent
}

// NeedsUserData reports whether a host needs user data or a cluster in its join token, because it gets no other input.
func (h HostInput) NeedsUserData() bool { return h.suffix() != "" }

// suffix returns the suffix of the file beside the join token, "" if there is none.
func (h HostInput) suffix() string {
	return map[Format]string{CloudInit: ".cloud-init.yaml", Kickstart: ".ks", Ignition: ".ign"}[h.Format]
}

// file returns the file of a host that contains its join token. userData is for a join token without user data, and
// only for Ignition. ok is false if the format has no such file.
func (h HostInput) file(
	dir string, token *enrollment.Token, userData []byte,
) (file enrollment.File, ok bool, err error) {
	if h.suffix() == "" {
		return file, false, nil
	}
	file = enrollment.File{Path: enrollment.HostPath(dir, token.NodeName, h.suffix()), IsSecret: true}
	encoded, err := token.Encode()
	switch {
	case err != nil:
	case h.Format == Ignition:
		if token.UserData != nil {
			userData = token.UserData
		}
		file.Content, err = rhcos.UserData(userData, encoded, h.Agent)
	default:
		file.Content = nodepool.Format(h.Format).RenderToken(encoded, token.NodeName, h.Repository)
	}
	return file, true, err
}

// inventory returns an inventory of Ansible with the nodes. The first address of a node is that with which Ansible
// connects, unless it is a CIDR.
func inventory(nodes []Node) ([]byte, error) {
	hosts := map[string]map[string]string{}
	for _, node := range nodes {
		hosts[node.Name] = map[string]string{}
		if len(node.Addresses) > 0 && node.Addresses[0].IsSingleIP() {
			hosts[node.Name]["ansible_host"] = node.Addresses[0].Addr().String()
		}
	}
	content, err := yaml.Marshal(map[string]any{"hcp_nodes": map[string]any{"hosts": hosts}})
	if err != nil {
		return nil, fmt.Errorf("encoding the inventory: %w", err)
	}
	return append([]byte("# Not a secret. The join tokens of the hosts are in tokens/NAME.token.\n"), content...), nil
}
