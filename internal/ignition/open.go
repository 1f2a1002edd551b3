// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"context"

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
	userData := detectUserData(raw)
	switch {
	case userData == nil:
		return Open(ctx, raw, resolve.Options{Offline: offline, Log: f.Log, RetryTimeout: f.RetryTimeout})
	case offline:
		return nil, report.Fail(report.Usage, "# use the payload itself, or omit --offline",
			"reading the config: the input is user data, whose payload is at %s, but --offline excludes the network",
			resolve.RedactSource(userData.Source.String()))
	}
	return f.Fetch(ctx, userData)
}

// detectUserData returns the user data in raw, nil for other configs. A config with one merged config
// but no CA is not user data: it may refer to a web server that this host trusts.
func detectUserData(raw []byte) *UserData {
	userData, err := ParseUserData(raw)
	if err != nil || userData.Validate() != nil {
		return nil
	}
	return userData
}
