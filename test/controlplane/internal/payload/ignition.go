// SPDX-License-Identifier: Apache-2.0

package payload

// The types are the part of Ignition spec 3.2 that a NodePool's payload uses. Their fields are in
// the order of a real payload.

// Config is an Ignition config.
type Config struct {
	Ignition Version `json:"ignition"`
	Passwd   Passwd  `json:"passwd"`
	Storage  Storage `json:"storage"`
	Systemd  Systemd `json:"systemd"`
}

// Version is the spec version.
type Version struct {
	Version string `json:"version"`
}

// Passwd holds the users.
type Passwd struct {
	Users []User `json:"users"`
}

// User is one login.
type User struct {
	Name              string   `json:"name"`
	SSHAuthorizedKeys []string `json:"sshAuthorizedKeys"`
}

// Storage holds the files.
type Storage struct {
	Files []File `json:"files"`
}

// File is one file with its content in a data URL.
type File struct {
	Overwrite bool     `json:"overwrite"`
	Path      string   `json:"path"`
	Contents  Contents `json:"contents"`
	Mode      int      `json:"mode"`
}

// Contents are the contents of a file. Compression can be present and empty.
type Contents struct {
	Compression *string `json:"compression,omitempty"`
	Source      string  `json:"source"`
}

// Systemd holds the units.
type Systemd struct {
	Units []Unit `json:"units"`
}

// Unit is a complete unit, or only the drop-ins or the enablement of a unit of the host.
type Unit struct {
	Contents *string  `json:"contents,omitempty"`
	Dropins  []Dropin `json:"dropins,omitempty"`
	Enabled  *bool    `json:"enabled,omitempty"`
	Name     string   `json:"name"`
}

// Dropin is a drop-in of a unit. Empty contents are intended: without a proxy a real payload has
// such drop-ins, too.
type Dropin struct {
	Contents string `json:"contents"`
	Name     string `json:"name"`
}
