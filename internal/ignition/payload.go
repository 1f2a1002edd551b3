// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/resolve"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Payload is a decoded payload: the complete configuration of a node. It is a credential, as it
// contains the pull secret and the bootstrap kubeconfig.
type Payload struct {
	Raw      []byte       // as served, or with the resources that it refers to; without overrides
	Digest   string       // SHA-256 of Raw, hexadecimal
	Version  string       // the original Ignition spec version
	Config   types.Config // translated to the newest spec
	Warnings []string     // of Ignition's own validation

	Server string        // the host that served it, "" for a file
	Skew   time.Duration // the server's clock minus this host's, in seconds; 0 for unknown

	Contents map[string][]byte // decoded, by path
	Appends  map[string][]byte // content to append to files, joined, by path
	Base     *types.Config     // Config before the overrides; nil: there are none

	machine MachineConfig
	modes   map[string]uint32 // of all files, by path
}

// payloadRemedy is the remedy for a payload that cannot be read.
const payloadRemedy = "# the payload is rendered from the MachineConfigs of the NodePool (spec.config) and of the " +
	"release; correct the named object there"

// LoadPayload parses a complete payload of Ignition spec 3.0 to 3.6 and decodes the contents of
// its files, at most 64 MiB together. It never uses the network. An error is a report.Failure
// with code Usage and has the location of each problem.
func LoadPayload(raw []byte) (*Payload, error) {
	document, err := resolve.Offline(raw, "the payload", payloadRemedy)
	if err != nil {
		return nil, err
	}
	return newPayload(document)
}

func newPayload(d *resolve.Document) (*Payload, error) {
	digest := fmt.Sprintf("%x", sha256.Sum256(d.Raw))
	p := &Payload{Raw: d.Raw, Digest: digest, Version: d.Version, Config: d.Config, Warnings: d.Warnings}
	if err := p.setContents(d.Contents); err != nil {
		return nil, report.Fail(report.Usage, payloadRemedy, "reading the payload: %w", err)
	}
	return p, nil
}

// setContents sets the contents of the config, and parses the MachineConfig among them.
func (p *Payload) setContents(contents resolve.Contents) (err error) {
	p.Contents, p.Appends = contents.Own, contents.Appended
	p.modes = map[string]uint32{}
	for _, file := range p.Config.Storage.Files {
		p.modes[file.Path] = FileMode(file)
	}
	p.machine, err = parseMachineConfig(p)
	return wrap.Errorf(err, "file %s", MachineConfigPath)
}

// File returns the decoded content, including appended content, and the mode of the file at
// path. It reports false if the payload has no such file. The caller must not change the content.
func (p *Payload) File(path string) (content []byte, mode uint32, ok bool) {
	mode, ok = p.modes[path]
	content = p.Contents[path]
	if appended := p.Appends[path]; len(appended) > 0 {
		content = slices.Concat(content, appended)
	}
	return content, mode, ok
}

// BootstrapKubeconfig returns the bootstrap kubeconfig, or nil if it was removed.
func (p *Payload) BootstrapKubeconfig() []byte {
	content, _, found := p.File(BootstrapKubeconfigPath)
	if !found {
		return nil
	}
	return content
}

// FileMode returns the mode of a file, 0644 if the payload sets none.
func FileMode(file types.File) uint32 {
	if file.Mode == nil {
		return 0o644
	}
	return uint32(*file.Mode) //nolint:gosec // validated: 0 to 07777
}

// Unit returns the unit of that name in the payload. Contents are "" if a package provides the
// unit; enabled is nil if the payload does not set it.
func (p *Payload) Unit(name string) (contents string, dropins map[string]string, enabled *bool, ok bool) {
	for _, unit := range p.Config.Systemd.Units {
		if unit.Name != name {
			continue
		}
		dropins = map[string]string{}
		for _, dropin := range unit.Dropins {
			dropins[dropin.Name] = ptr.Deref(dropin.Contents, "")
		}
		return ptr.Deref(unit.Contents, ""), dropins, unit.Enabled, true
	}
	return "", nil, nil, false
}

// FileCount returns the number of files in the payload.
func (p *Payload) FileCount() int { return len(p.Config.Storage.Files) }

// UnitCount returns the number of units in the payload.
func (p *Payload) UnitCount() int { return len(p.Config.Systemd.Units) }

// EntryCount returns the number of files, directories, links, units, users and groups in the
// payload.
func (p *Payload) EntryCount() int {
	storage, passwd := p.Config.Storage, p.Config.Passwd
	return len(storage.Files) + len(storage.Directories) + len(storage.Links) + p.UnitCount() +
		len(passwd.Users) + len(passwd.Groups)
}

// String returns a summary without contents.
func (p Payload) String() string {
	from := ""
	if p.Server != "" {
		from = " from " + p.Server
	}
	return fmt.Sprintf("%d files, %d units, %s%s", p.FileCount(), p.UnitCount(), fetch.FormatSize(int64(len(p.Raw))), from)
}

// Format writes the summary for every verb, so that contents are never printed.
func (p Payload) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.String()) }

// MarshalJSON returns the summary, so that contents never reach a JSON document.
func (p Payload) MarshalJSON() ([]byte, error) { return json.Marshal(p.String()) }
