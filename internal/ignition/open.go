package ignition

import (
	"context"
	"encoding/json"

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

// ReadConfig reads a config that the administrator gave. User data is followed to its server, which only the CAs of the
// user data are trusted for; other configs are opened. Offline, everything that needs the network is refused and named.
func ReadConfig(ctx context.Context, raw []byte, f Fetcher, offline bool) (*Payload, error) {
	stub := stubIn(raw)
	switch {
	case stub == nil:
		return Open(ctx, raw, resolve.Options{Offline: offline, Log: f.Log, Budget: f.Budget})
	case offline:
		return nil, report.Fail(report.Usage, "# give it the payload itself, or let it use the network",
			"reading config: it is a user-data stub: its payload is at %s, and the network is not to be used", resolve.Place(stub.Source.String()))
	}
	return f.Fetch(ctx, stub)
}

// stubIn returns the stub in user data, nil for other configs. A config with one merged config and no CA of its own is
// no stub: as likely, it refers to a web server that this host trusts.
func stubIn(raw []byte) *Stub {
	var config struct {
		Ignition struct {
			Config struct{ Merge []json.RawMessage }
		}
	}
	if json.Unmarshal(raw, &config) != nil || len(config.Ignition.Config.Merge) != 1 {
		return nil // without the cost of a complete parse
	}
	stub, err := ParseStub(raw)
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
