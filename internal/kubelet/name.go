// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// NameSources contains everything that determines the node name that kubelet
// uses.
type NameSources struct {
	Unit     string   // content of kubelet.service
	DropIns  []string // contents of its drop-ins, sorted by name
	Hostname string   // uname -n
	// File reads a file as it will be when kubelet starts: the payload's version,
	// or else the host's. It is called for the unit's EnvironmentFile= paths.
	File func(path string) (content []byte, found bool)
}

// NodeName returns the name with which kubelet will register its Node. That is
// the value of --hostname-override in the unit, with the unit's environment
// expanded, or else the host name. It is lower-cased and trimmed as kubelet
// does (GetHostname in k8s.io/component-helpers/node/util). The CSR and all
// requests for the Node use the same name.
func NodeName(sources NameSources) (string, error) {
	name, origin, err := unvalidatedName(sources)
	if err != nil {
		return "", err
	}
	name = strings.ToLower(strings.TrimSpace(name))
	return name, validateName(name, origin)
}

const hostnameOrigin = "the host name"

func unvalidatedName(sources NameSources) (name, origin string, err error) {
	unit, err := parseUnit(sources)
	if err != nil {
		return "", "", err
	}
	name = strings.TrimSpace(expandVariables(unit.hostnameOverride, unit.environment))
	if name != "" {
		return name, "kubelet's --hostname-override", nil
	}
	return sources.Hostname, hostnameOrigin, nil
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
