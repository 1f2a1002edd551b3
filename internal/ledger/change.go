// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"

// Kind is the kind of a changed object.
type Kind string

// The kinds of paths, whose driver is Paths.
const (
	File      Kind = "file"
	Directory Kind = "directory"
	Symlink   Kind = "link"     // symbolic link
	HardLink  Kind = "hardlink" // another name of Desired.Link
)

// Kinds whose drivers are in the package resource. Other drivers define their kinds themselves.
const (
	Unit   Kind = "unit"   // enabled or disabled, active or inactive
	Sysctl Kind = "sysctl" // the running kernel's value
	Module Kind = "module" // a loaded kernel module

	KernelArguments Kind = "kernel arguments" // with which the boot loader starts the kernel

	// Contents is a snapshot of a directory whose contents other components write, such as kubelet.
	Contents Kind = "contents"
	// SharedContents is a snapshot of a directory in which administrators also create files, such as
	// /etc/cni.
	SharedContents Kind = "shared"
	// LoadedConfig is the configuration that a running service has loaded.
	LoadedConfig Kind = "loaded configuration"
	// Interfaces is a snapshot of the host's network interfaces, to which CNI plugins add.
	Interfaces Kind = "interfaces"
	// ForeignSysctl is a snapshot of a sysctl that another component sets.
	ForeignSysctl Kind = "foreign sysctl"
)

// FileType returns the type of file of a kind of paths, or "" for other kinds.
func (k Kind) FileType() hostfs.FileType {
	switch k {
	case File, HardLink:
		return hostfs.Regular
	case Directory:
		return hostfs.Directory
	case Symlink:
		return hostfs.Symlink
	}
	return ""
}

func (k Kind) isPath() bool { return k.FileType() != "" }

// Change is the desired state of one object. It is a plain value: plans print it, Apply
// makes it, and two plans can be compared.
type Change struct {
	Kind    Kind   `json:"kind"`
	Target  string `json:"target"`           // path, unit name, sysctl name, ...
	Reason  string `json:"reason,omitempty"` // the source of the setting
	Desired State  `json:"desired"`
	// Overwrite allows an existing object to be replaced. The ledger ignores it; callers
	// that implement Ignition's rules check it.
	Overwrite bool `json:"overwrite,omitempty"`
	// NoBackup is set for a credential that is removed: no copy of an edited one is kept. It is not
	// recorded.
	NoBackup bool `json:"-"`
	// Args are the arguments of the command that creates the object, such as useradd. They are not recorded.
	Args []string `json:"-"`
}

// FileChange returns the change that writes a file with mode 0644, owned by root.
func FileChange(target, reason, content string) Change {
	return Change{Kind: File, Target: target, Reason: reason, Desired: FileState([]byte(content), 0o644)}
}

// Key returns a string that identifies the changed object.
func (c Change) Key() string { return string(c.Kind) + ":" + c.Target }

// Matches reports whether now matches the desired state: the file type is that of the kind, and
// every field that the desired state sets is equal. Names and Data are not compared. A desired
// absence only concerns objects of the same kind: a removed directory counts as removed when a file
// replaces it. File stands for every type but a directory.
func (c Change) Matches(now State) bool {
	want := c.Desired
	if !want.Present {
		return !now.Present || !c.removes(now.Type)
	}
	if !now.Present || (c.Kind.isPath() && c.fileType() != now.Type) {
		return false
	}
	return emptyOrEqual(want.Digest, now.Digest) && emptyOrEqual(want.Link, now.Link) &&
		emptyOrEqual(want.Enabled, now.Enabled) && emptyOrEqual(want.Active, now.Active) &&
		emptyOrEqual(want.Value, now.Value) &&
		nilOrEqual(want.Mode, now.Mode) && nilOrEqual(want.UID, now.UID) && nilOrEqual(want.GID, now.GID)
}

// removes reports whether a desired absence concerns an object of this type.
func (c Change) removes(now hostfs.FileType) bool {
	switch c.Kind {
	case File, HardLink:
		return now != hostfs.Directory
	case Directory, Symlink:
		return now == c.Kind.FileType()
	}
	return true
}

// fileType returns the type of file that a change of a path makes. A hard link has the type of its
// target.
func (c Change) fileType() hostfs.FileType {
	if c.Kind == HardLink && c.Desired.Type != "" {
		return c.Desired.Type
	}
	return c.Kind.FileType()
}

func emptyOrEqual(want, now string) bool { return want == "" || want == now }

func nilOrEqual[T comparable](want, now *T) bool {
	return want == nil || (now != nil && *want == *now)
}
