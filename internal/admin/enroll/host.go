// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/site"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
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
	Ansible   Format = "ansible"  // scripts, with an inventory of all hosts
)

// Formats returns the names of the formats.
func Formats() []string {
	return []string{string(Dir), string(CloudInit), string(Kickstart), string(Ignition), string(Ansible)}
}

// HostInput describes the input of the hosts.
type HostInput struct {
	Format Format
	Site   *site.Config
	// ForAll is the path of one file for all hosts, for CloudInit and Kickstart; "" for one file each.
	ForAll string
	Agent  *rhcos.Binary // for Ignition; nil if the image contains the agent
}

// NeedsSite reports whether a host needs the settings of its site to become a node.
func (h HostInput) NeedsSite() bool { return h.NeedsUserData() && h.Format != Ignition }

// NeedsUserData reports whether a host needs user data or a cluster in its join token, because it gets no other input.
func (h HostInput) NeedsUserData() bool { return h.suffix() != "" }

// missing returns notes about what the hosts must already have.
func (h HostInput) missing() []report.Finding {
	if !h.NeedsSite() {
		return nil
	}
	return h.Site.Missing()
}

// suffix returns the suffix of the file beside the join token, "" if there is none.
func (h HostInput) suffix() string {
	return map[Format]string{
		CloudInit: ".cloud-init.yaml", Kickstart: ".ks", Ignition: ".ign", Ansible: ".sh",
	}[h.Format]
}

// file returns the file of a host that contains its join token. userData is for a join token without user data, and
// only for Ignition. If there is none, the host gets the published user data after its first boot. ok is false if the
// format has no such file.
func (h HostInput) file(
	dir string, token *enrollment.Token, userData, published []byte,
) (file enrollment.File, ok bool, err error) {
	if h.suffix() == "" || h.ForAll != "" {
		return file, false, nil
	}
	file = enrollment.File{Path: enrollment.HostPath(dir, token.NodeName, h.suffix()), IsSecret: true}
	encoded, err := token.Encode()
	if err != nil {
		return file, true, err
	}
	switch h.Format {
	case CloudInit:
		file.Content, err = h.Site.CloudInit(token.NodeName, encoded)
	case Kickstart:
		file.Content, err = h.Site.Kickstart(token.NodeName, encoded)
	case Ansible:
		file.Content, err = h.Site.Script(token.NodeName, encoded)
	case Ignition:
		if token.UserData != nil {
			userData = token.UserData
		}
		file.Content, err = h.ignition(encoded, userData, published)
	case Dir: // has no such file
	}
	return file, true, err
}

// ignition returns the Ignition config of a host with a join token. Without user data, the host joins when it runs, and
// then reboots into the image of the payload.
func (h HostInput) ignition(token, userData, published []byte) ([]byte, error) {
	var defaults map[string]any
	if userData == nil {
		defaults = map[string]any{"hostSettings": config.HostSettingsReboot}
		var err error
		if userData, err = rhcos.WithoutPayload(published); err != nil {
			return nil, err
		}
	}
	files, err := h.Site.Files(defaults)
	if err != nil {
		return nil, err
	}
	return rhcos.UserData(userData, token, files, h.Agent)
}

// writeForAll writes one file for all hosts, if that is requested. It contains the join tokens in the directory.
func (o Options) writeForAll(result *Result) error {
	if o.Input.ForAll == "" {
		return nil
	}
	var hosts []site.Host
	for _, node := range o.Nodes {
		path, _ := enrollment.Paths(o.Dir, node.Name)
		token, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // a finding reports it
		case err != nil:
			return fmt.Errorf("reading the join token: %w", err)
		}
		hosts = append(hosts, site.Host{Name: node.Name, IDs: node.ids(), Token: token})
	}
	render := o.Input.Site.ScriptForAll
	if o.Input.Format == Kickstart {
		render = o.Input.Site.KickstartForAll
	}
	content, err := render(hosts)
	if err != nil || len(hosts) == 0 {
		return err
	}
	result.ForAll = o.Input.ForAll
	return nodepool.WriteFile(o.Input.ForAll, content, true)
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
	return append([]byte("# Not a secret. The scripts of the hosts, tokens/NAME.sh, are secrets.\n"), content...), nil
}
