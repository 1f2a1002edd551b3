// SPDX-License-Identifier: Apache-2.0

// Package hostclass states how the classes of hosts differ. No other package compares classes: it reads a
// capability.
package hostclass

import "github.com/hcp-node-agent/hcp-node-agent/internal/schema"

// Class is the class of a host: what installs and updates its operating system.
type Class string

// The classes of hosts.
const (
	PackageMode Class = "package" // RHEL, whose packages dnf installs and updates
	Bootc       Class = "bootc"   // RHEL in image mode, whose image its owner builds
	CoreOS      Class = "coreos"  // RHEL CoreOS, whose image belongs to an OpenShift release
)

// Enum returns all classes, for schemas.
func (Class) Enum() []string { return schema.Strings(PackageMode, Bootc, CoreOS) }

// Capabilities list the differences between the classes.
type Capabilities struct {
	Name string // of the class, for people

	// HasImage means that the host boots an image (OSTree), to which its packages and kernel arguments belong.
	HasImage bool
	// HasBootc means that bootc, if it is installed, manages the image. Otherwise rpm-ostree does.
	HasBootc bool
	// PayloadImage is when the host boots the image of the payload.
	PayloadImage ImageUse
	// StagesEarly means that an upgrade can be downloaded before the node is drained. A staged image starts at the next
	// boot, whatever its cause.
	StagesEarly bool

	// HasFirstBoot means that Ignition and the payload's own units prepare the host at its first boot. They install the
	// extensions and the kernel type, and enable the units of the payload.
	HasFirstBoot bool
	// OwnsPayload means that the host is of the class for which the payload was rendered: its files and units are written
	// unchanged, and belong to Ignition. The host can also join without the agent.
	OwnsPayload bool
	// CreatesBridge means that the agent creates br-ex. Otherwise ovs-configuration.service of the payload does.
	CreatesBridge bool
	// HasLogins means that people log in with accounts that the payload does not have, so that it must not lock them out.
	HasLogins bool
}

// ImageUse is when a host boots the image of the payload.
type ImageUse int

// Values of ImageUse.
const (
	Never ImageUse = iota
	OnRequest
	Always
)

// Capabilities returns those of hosts of the class.
func (c Class) Capabilities() Capabilities {
	switch c {
	case CoreOS:
		return Capabilities{
			Name: "RHEL CoreOS", HasImage: true, PayloadImage: Always, HasFirstBoot: true, OwnsPayload: true,
		}
	case Bootc:
		return Capabilities{
			Name: "image mode", HasImage: true, HasBootc: true, PayloadImage: OnRequest, StagesEarly: true,
			CreatesBridge: true, HasLogins: true,
		}
	}
	return Capabilities{Name: "package mode", StagesEarly: true, CreatesBridge: true, HasLogins: true}
}
