package ignition

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/resolve"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Payload is a node's whole configuration, decoded. It is a credential: it
// holds the pull secret and the bootstrap kubeconfig.
type Payload struct {
	Raw      []byte       // as it was served, or all that it refers to in it; overrides are not in it
	Digest   string       // SHA-256 of Raw, hexadecimal
	Version  string       // the Ignition spec it was written in
	Config   types.Config // translated to the newest spec
	Warnings []string     // of Ignition's own validation

	Server     string        // the host that served it, "" when it came from a file
	ServerDate time.Time     // the server's clock, zero when unknown
	Skew       time.Duration // ServerDate minus this host's clock then; a second is its resolution

	contents map[string][]byte // decoded, by path
	appends  map[string][]byte // what is appended to files, joined, by path
	machine  MachineConfig

	overridden map[string]bool // targets of changes that an override has brought or changed
}

// payloadRemedy is what to do about a payload that cannot be read.
const payloadRemedy = "# the payload is made from the MachineConfigs of the NodePool (spec.config) and of the release: look there for what is named"

// LoadPayload reads a payload of Ignition spec 3.0 to 3.6 that has all in it,
// and decodes the contents of its files, at most 64 MiB together. It never asks
// the network. An error says what is wrong and where; it is a report.Failure
// with the code Usage.
func LoadPayload(raw []byte) (*Payload, error) {
	document, err := resolve.Inline(raw, "payload", payloadRemedy)
	if err != nil {
		return nil, err
	}
	return newPayload(document)
}

func newPayload(d *resolve.Document) (*Payload, error) {
	sum := sha256.Sum256(d.Raw)
	p := &Payload{Raw: d.Raw, Digest: hex.EncodeToString(sum[:]), Version: d.Version, Config: d.Config, Warnings: d.Warnings}
	if err := p.take(d.Contents, d.Appends); err != nil {
		return nil, report.Fail(report.Usage, payloadRemedy, "reading payload: %w", err)
	}
	return p, nil
}

// expand decodes what the config holds, once more after it was changed.
func (p *Payload) expand() error {
	contents, appends, err := resolve.Contents(p.Config)
	if err != nil {
		return err
	}
	return p.take(contents, appends)
}

// take keeps decoded contents, and reads those that say something about the
// node as a whole.
func (p *Payload) take(contents, appends map[string][]byte) (err error) {
	p.contents, p.appends = contents, appends
	if p.machine, err = machineConfig(p); err != nil {
		return fmt.Errorf("file %s: %w", encapsulatedPath, err)
	}
	return nil
}

// File gives the decoded content, with what is appended to it, and the mode of
// the file at path. It is not ok when the payload has no such file.
func (p *Payload) File(path string) (content []byte, mode uint32, ok bool) {
	for _, file := range p.Config.Storage.Files {
		if file.Path == path {
			return slices.Concat(p.contents[path], p.appends[path]), fileMode(file), true
		}
	}
	return nil, 0, false
}

// fileMode is the mode of a file; 0644 where the payload leaves it open.
func fileMode(file types.File) uint32 {
	if file.Mode == nil {
		return 0o644
	}
	return uint32(*file.Mode) //nolint:gosec // validated: 0 to 07777
}

// Unit gives what the payload says of the unit name. Contents are "" where the
// unit is brought by a package; enabled is nil where the payload leaves it open.
func (p *Payload) Unit(name string) (contents string, dropins map[string]string, enabled *bool, ok bool) {
	for _, unit := range p.Config.Systemd.Units {
		if unit.Name != name {
			continue
		}
		dropins = map[string]string{}
		for _, dropin := range unit.Dropins {
			dropins[dropin.Name] = text(dropin.Contents)
		}
		return text(unit.Contents), dropins, unit.Enabled, true
	}
	return "", nil, nil, false
}

// Files is how many files the payload has.
func (p *Payload) Files() int { return len(p.Config.Storage.Files) }

// Units is how many units the payload has something for.
func (p *Payload) Units() int { return len(p.Config.Systemd.Units) }

// Entries is how many things the payload has something for.
func (p *Payload) Entries() int {
	storage, passwd := p.Config.Storage, p.Config.Passwd
	return len(storage.Files) + len(storage.Directories) + len(storage.Links) + p.Units() + len(passwd.Users) + len(passwd.Groups)
}

// String sums the payload up without contents.
func (p Payload) String() string {
	from := ""
	if p.Server != "" {
		from = " from " + p.Server
	}
	return fmt.Sprintf("%d files, %d units, %s%s", p.Files(), p.Units(), size(len(p.Raw)), from)
}

// Format keeps the contents out of every verb.
func (p Payload) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.String()) }

// MarshalJSON keeps the contents out of documents.
func (p Payload) MarshalJSON() ([]byte, error) { return json.Marshal(p.String()) }

func size(n int) string {
	if n < 10_000 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%d kB", (n+500)/1000)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
