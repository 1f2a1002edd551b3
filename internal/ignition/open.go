// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"context"
	"fmt"

	"github.com/coreos/ignition/v2/config/v3_6"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/resolve"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Open parses a config of Ignition spec 3.0 to 3.6 and fetches all resources that it refers to.
// The Raw of the payload is complete and can be parsed again without the network. Errors are
// those of resolve.Resolve.
func Open(ctx context.Context, raw []byte, o resolve.Options) (*Payload, error) {
	document, err := resolve.Resolve(ctx, raw, o)
	if err != nil {
		return nil, err
	}
	return newPayload(document)
}

// ReadConfig parses a config that the administrator gave. For user data, it fetches the payload
// from the server, which only the CAs of the user data are trusted for. Other configs are opened
// as with Open. If offline is true, an error names each resource that needs the network.
func ReadConfig(ctx context.Context, raw []byte, f Fetcher, offline bool) (*Payload, error) {
	parsed, _ := resolve.Parse(raw) // Open reports the error
	userData := detectUserData(parsed)
	switch {
	case userData == nil:
		return Open(ctx, raw, resolve.Options{
			Offline: offline, Parsed: parsed, Log: f.Log, RetryTimeout: f.RetryTimeout,
		})
	case offline:
		return nil, report.Fail(report.Usage, "# use the payload itself, or omit --offline",
			"reading the config: the input is user data, whose payload is at %s, but --offline excludes the network",
			resolve.RedactSource(userData.Source.String()))
	}
	return f.Fetch(ctx, userData)
}

// detectUserData returns the user data in a config, nil for other configs and without a config. A config with one
// merged config but no CA is not user data: it may refer to a web server that this host trusts.
func detectUserData(parsed *resolve.Parsed) *UserData {
	if parsed == nil {
		return nil
	}
	userData, err := userDataFromConfig(parsed.Config)
	if err != nil || userData.Validate() != nil {
		return nil
	}
	return userData
}

// CheckOverride returns an error if raw is not a valid config of Ignition spec 3.0 to 3.6. The
// error has the location of each problem; name identifies the config in it. Resources that the
// config refers to are not fetched.
func CheckOverride(name string, raw []byte) error {
	if _, err := resolve.Parse(raw); err != nil {
		return report.Fail(report.Usage, overrideRemedy, "reading the Ignition override %s: %w", name, err)
	}
	return nil
}

// OpenOverride parses a config that is to be merged over a payload, and returns it with all
// resources that it refers to. The name identifies the config in messages. The proxy and CAs of
// the user data apply if the config has none; userData may be nil.
func OpenOverride(ctx context.Context, name string, raw []byte, userData *UserData, log report.Log) ([]byte, error) {
	o := resolve.Options{Name: "the Ignition override " + name, Remedy: overrideRemedy, Log: log}
	if userData != nil {
		o.Parent = userData.ignitionSettings()
	}
	document, err := resolve.Resolve(ctx, raw, o)
	if err != nil {
		return nil, err
	}
	return document.Raw, nil
}

const overrideRemedy = "# correct the Ignition override (https://coreos.github.io/ignition/specs/)"

// Override returns the payload with configs merged over it in order, by Ignition's rules:
// entries with the same path or name are replaced field by field, and new entries are added. The
// configs must be complete, as OpenOverride returns them. p is not changed. Raw, Digest and
// Version of the result are those of p.
func (p *Payload) Override(configs ...[]byte) (*Payload, error) {
	merged := *p
	if len(configs) == 0 {
		return &merged, nil
	}
	if err := merged.merge(configs); err != nil {
		return nil, report.Fail(report.Usage, "# correct the Ignition override, which conflicts with this payload",
			"merging the Ignition override over the payload: %w", err)
	}
	return &merged, nil
}

func (p *Payload) merge(configs [][]byte) error {
	base := p.Config
	p.Base = &base
	for _, raw := range configs {
		document, err := resolve.Offline(raw, "the override", "")
		if err != nil {
			return err
		}
		p.Config = v3_6.Merge(p.Config, document.Config)
		p.Warnings = append(p.Warnings[:len(p.Warnings):len(p.Warnings)], document.Warnings...)
	}
	// Two valid configs can be invalid when merged, such as a link in one and a file below it in
	// the other. Ignition validates the result again, too.
	if err := resolve.Validate(p.Config); err != nil {
		return fmt.Errorf("the merged config is not valid: %w", err)
	}
	contents, err := resolve.DecodeContents(p.Config)
	if err != nil {
		return err
	}
	return p.setContents(contents)
}
