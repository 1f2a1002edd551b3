// SPDX-License-Identifier: Apache-2.0

package hostinfo

import "github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"

// Class returns the class of the host. RHEL CoreOS has ID=rhcos up to OpenShift 4.18 and VARIANT_ID=coreos; CentOS
// Stream CoreOS has ID=scos (machine-config-operator, pkg/daemon/osrelease).
func (f Facts) Class() hostclass.Class {
	switch {
	case !f.OSTree:
		return hostclass.PackageMode
	case f.OS.Variant == "coreos" || f.OS.ID == "rhcos" || f.OS.ID == "scos":
		return hostclass.CoreOS
	}
	return hostclass.Bootc
}

// Capabilities returns the capabilities of hosts of this class.
func (f Facts) Capabilities() hostclass.Capabilities { return f.Class().Capabilities() }
