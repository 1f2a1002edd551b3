package ignition

import (
	"context"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/resolve"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Open reads a config of Ignition spec 3.0 to 3.6 and gets all that it refers
// to, so that the payload's Raw is whole and can be read again without the
// network. Errors are as resolve.Resolve has them.
func Open(ctx context.Context, raw []byte, o resolve.Options) (*Payload, error) {
	document, err := resolve.Resolve(ctx, raw, o)
	if err != nil {
		return nil, err
	}
	return newPayload(document)
}

// ReadConfig reads a config that somebody gave: a user-data stub is followed to
// its server, with the fetcher's strict trust, and anything else is opened.
// Offline, what needs the network is refused, and each such thing named.
func ReadConfig(ctx context.Context, raw []byte, f Fetcher, offline bool) (*Payload, error) {
	given, err := resolve.Read(raw, resolve.Options{Offline: offline, Log: f.Log, Budget: f.Budget})
	if err != nil {
		return nil, err
	}
	stub := stubIn(given.Config)
	switch {
	case stub == nil:
		document, err := given.Resolve(ctx)
		if err != nil {
			return nil, err
		}
		return newPayload(document)
	case offline:
		return nil, report.Fail(report.Usage, "# give it the payload itself, or let it use the network",
			"reading config: it is a user-data stub: its payload is at %s, and the network is not to be used", resolve.Place(stub.Source.String()))
	}
	return f.Fetch(ctx, stub)
}

// stubIn gives the user-data stub that a config is, nil when it is another one.
// One merged config is not enough for that: without a CA of its own, it is as
// likely a base config on some web server that the host trusts.
func stubIn(config types.Config) *Stub {
	stub, err := stubOf(config)
	if err != nil || stub.Validate() != nil {
		return nil
	}
	return stub
}

// OpenOverride reads a config that shall be merged over a payload, and gives it
// with all that it refers to in it; name is what a person calls it. The stub's
// proxy and CAs count for it where it has none; the stub may be nil.
func OpenOverride(ctx context.Context, name string, raw []byte, stub *Stub, log report.Log) ([]byte, error) {
	o := resolve.Options{Name: "Ignition override " + name, Remedy: "# correct it; what is in it is described by the Ignition spec", Log: log}
	if stub != nil {
		o.Parent = stub.settings()
	}
	document, err := resolve.Resolve(ctx, raw, o)
	if err != nil {
		return nil, err
	}
	return document.Raw, nil
}
