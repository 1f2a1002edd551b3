package payload

// The part of Ignition's specification 3.2 that a NodePool's payload uses, in
// the order in which the real one is written.

// Config is an Ignition config.
type Config struct {
	Ignition Version `json:"ignition"`
	Passwd   Passwd  `json:"passwd"`
	Storage  Storage `json:"storage"`
	Systemd  Systemd `json:"systemd"`
}

// Version names the specification.
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

// Contents of a file. Compression may be present and empty.
type Contents struct {
	Compression *string `json:"compression,omitempty"`
	Source      string  `json:"source"`
}

// Systemd holds the units.
type Systemd struct {
	Units []Unit `json:"units"`
}

// Unit is a unit, or only drop-ins or the state of one that is not ours.
type Unit struct {
	Contents *string  `json:"contents,omitempty"`
	Dropins  []Dropin `json:"dropins,omitempty"`
	Enabled  *bool    `json:"enabled,omitempty"`
	Name     string   `json:"name"`
}

// Dropin of a unit. Empty contents are there on purpose: without a proxy the
// real payload has such drop-ins too.
type Dropin struct {
	Contents string `json:"contents"`
	Name     string `json:"name"`
}
