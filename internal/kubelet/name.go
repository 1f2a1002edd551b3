// SPDX-License-Identifier: Apache-2.0

// Package kubelet handles the settings of the kubelet service: its unit files, the
// node name and version that follow from them, the labels and taints with which
// kubelet registers its Node, and the mounts that kubelet leaves behind. Start
// reading at NodeName and Registration.RenderDropIn.
//
// RegistrationCheck needs the node's own credential, with which it creates the Node in
// a dry run. ServerVersion works with any credential.
package kubelet

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const hostnameOrigin = "the host name"

// NodeName returns the name with which kubelet will register its Node. That is
// the value of --hostname-override in the unit, with the unit's environment
// expanded, or else the host name. It is lower-cased and trimmed as kubelet
// does (GetHostname in k8s.io/component-helpers/node/util). The CSR and all
// requests for the Node use the same name.
func NodeName(files UnitFiles, hostname string) (string, error) {
	name, origin, err := unvalidatedName(files, hostname)
	if err != nil {
		return "", err
	}
	return name, validateName(name, origin)
}

// HostNodeName returns the node name with which kubelet would start on a host that has
// kubelet's unit, or "" without the unit. The name may be one that a join would refuse.
func HostNodeName(tree hostfs.Reader, hostname string) (string, error) {
	files := ReadUnitFiles(func(name string) ([]byte, bool) {
		content, _, err := tree.ReadFile(name)
		return content, err == nil
	}, func(dir string) []string {
		names, _ := tree.ReadDir(dir) // a missing directory contains no drop-ins
		return names
	})
	if files.Unit == "" {
		return "", nil
	}
	name, _, err := unvalidatedName(files, hostname)
	return name, err
}

func unvalidatedName(files UnitFiles, hostname string) (name, origin string, err error) {
	settings, err := files.parseSettings()
	if err != nil {
		return "", "", err
	}
	name, origin = strings.TrimSpace(settings.flag("--hostname-override")), "kubelet's --hostname-override"
	if name == "" {
		name, origin = strings.TrimSpace(hostname), hostnameOrigin
	}
	return strings.ToLower(name), origin, nil
}

// validateName rejects names that the API server would reject later, when they are
// harder to change.
func validateName(name, origin string) error {
	remedy := report.Remedy("hostnamectl set-hostname worker-1.example.com # a unique name; then run this command " +
		"again")
	if origin != hostnameOrigin {
		remedy = "# correct KUBELET_NODE_NAME in kubelet's unit or environment files of the NodePool's configuration"
	}
	local := []string{
		"localhost", "localhost.localdomain", "localhost4", "localhost4.localdomain4", "localhost6",
		"localhost6.localdomain6",
	}
	switch problems := validation.IsDNS1123Subdomain(name); {
	case name == "":
		return report.Fail(report.Refused, remedy, "the node has no name: %s is empty", origin)
	case slices.Contains(local, name):
		return report.Fail(report.Refused, remedy, "the node's name would be %q (%s), which does not identify a "+
			"machine: every node needs a unique name", name, origin)
	case len(problems) > 0:
		return report.Fail(report.Refused, remedy,
			"the node's name would be %q (%s), which Kubernetes does not allow: %s", name, origin, problems[0])
	case len(name) > validation.LabelValueMaxLength:
		// kubelet puts the name into the label kubernetes.io/hostname, and the API
		// server rejects a Node with a longer label.
		return report.Fail(report.Refused, remedy, "the node's name would be %q (%s), which has %d characters: at "+
			"most %d are allowed",
			name, origin, len(name), validation.LabelValueMaxLength)
	}
	return nil
}
