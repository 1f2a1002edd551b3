// SPDX-License-Identifier: Apache-2.0

package hostinfo

// Class is the class of a host: what installs and updates its operating system.
type Class string

// The classes of hosts.
const (
	PackageMode Class = "package" // RHEL, whose packages dnf installs and updates
	Bootc       Class = "bootc"   // RHEL in image mode, whose image its owner builds
	CoreOS      Class = "coreos"  // RHEL CoreOS, whose image belongs to an OpenShift release
)

// Enum returns all classes, for schemas.
func (Class) Enum() []string { return []string{string(PackageMode), string(Bootc), string(CoreOS)} }

// Class returns the class of the host. RHEL CoreOS has ID=rhcos up to OpenShift 4.18 and VARIANT_ID=coreos; CentOS
// Stream CoreOS has ID=scos (machine-config-operator, pkg/daemon/osrelease).
func (f Facts) Class() Class {
	switch {
	case !f.OSTree:
		return PackageMode
	case f.OS.Variant == "coreos" || f.OS.ID == "rhcos" || f.OS.ID == "scos":
		return CoreOS
	}
	return Bootc
}
