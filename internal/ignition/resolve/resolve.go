package resolve

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Options says how a config is resolved. The zero value is good.
type Options struct {
	Name    string // what the config is called in messages; "" is "config"
	Remedy  string // what to do when it is not valid
	Offline bool   // whatever would need the network is an error

	// Parent is the config that led to this one, as a stub. Proxy, timeouts and
	// certificate authorities are the parent's where this one has none.
	Parent types.Ignition

	Log      report.Log
	Budget   time.Duration // how long each URL is tried without a httpTotal; 0 is two minutes
	MaxBytes int64         // of all configs and contents together, expanded; 0 is MaxExpanded

	pause, stall time.Duration // shorter in tests
	dial         dialer        // to another place in tests
}

// Resolve reads a config, merges and replaces it by what it refers to, and
// gets, expands and verifies all contents. It writes nothing. Errors are a
// report.Failure: Usage for a config that is not valid, for what is not there,
// not what the config says it is, or too large; CredentialRefused when a server
// wants other proof; Refused when a server cannot be trusted; else Failed.
func Resolve(ctx context.Context, raw []byte, o Options) (*Document, error) {
	given, err := Read(raw, o)
	if err != nil {
		return nil, err
	}
	return given.Resolve(ctx)
}

// Given is a config as it was given: nothing that it refers to is there yet.
type Given struct {
	Config types.Config // translated to the newest spec

	raw      []byte
	version  string
	warnings []string
	options  Options
}

// Read is the first part of Resolve, for those who decide by the config itself
// what becomes of it: to read it once more would take as long as all the rest.
func Read(raw []byte, o Options) (*Given, error) {
	o = o.withDefaults()
	config, version, warnings, err := Parse(raw)
	if err != nil {
		return nil, report.Fail(report.Usage, o.Remedy, "reading %s: %w", o.Name, err)
	}
	return &Given{Config: config, raw: raw, version: version, warnings: warnings, options: o}, nil
}

// Resolve is the second part.
func (g *Given) Resolve(ctx context.Context) (*Document, error) {
	r := newResolver(g.options)
	defer r.client.close()
	r.warnings = g.warnings
	document, err := r.resolve(ctx, g.Config)
	if err != nil {
		code, remedy := report.Usage, g.options.Remedy
		if inner := report.RemedyOf(err); inner != "" {
			code, remedy = report.CodeOf(err), inner
		}
		return nil, report.Fail(code, remedy, "reading %s: %w", g.options.Name, err)
	}
	document.Version = g.version
	if !r.changed {
		document.Raw = g.raw
		return document, nil
	}
	if document.Raw, err = encode(document.Config); err != nil {
		return nil, err
	}
	return document, nil
}

// Inline resolves a config that has all in it, without the network: what needs
// it is an error that names each such thing.
func Inline(raw []byte, name, remedy string) (*Document, error) {
	return Resolve(context.Background(), raw, Options{Name: name, Remedy: remedy, Offline: true})
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "config"
	}
	if o.Remedy == "" {
		o.Remedy = "# correct the config"
	}
	if o.Budget == 0 {
		o.Budget = defaultBudget
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = MaxExpanded
	}
	if o.pause == 0 {
		o.pause = firstPause
	}
	if o.stall == 0 {
		o.stall = stallTimeout
	}
	if o.dial == nil {
		o.dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	return o
}

// resolve does in memory what Ignition does in two stages: fetch, which makes
// one config of several, and files, which gets the contents with the settings
// of that one config.
func (r *resolver) resolve(ctx context.Context, config types.Config) (*Document, error) {
	if err := r.use(ctx, settings(r.options.Parent, config.Ignition)); err != nil {
		return nil, err
	}
	merged, err := r.render(ctx, config, nil)
	if err != nil {
		return nil, err
	}
	if err := r.settle(ctx, &merged.Ignition); err != nil {
		return nil, err
	}
	if err := r.check(contents(&merged)); err != nil {
		return nil, err
	}
	if r.changed {
		if err := Check(merged); err != nil {
			return nil, fmt.Errorf("merged, its configs are not a valid Ignition config: %w", err)
		}
	}
	r.client.pool = nil // another process in Ignition: only the final config counts
	if err := r.use(ctx, settings(r.options.Parent, merged.Ignition)); err != nil {
		return nil, err
	}
	document := newDocument()
	if err := r.fill(ctx, &merged, document); err != nil {
		return nil, err
	}
	document.Config, document.Warnings, document.Fetched = merged, r.warnings, r.fetched
	return document, nil
}

// settings are those of a config over those of its parent. Nothing else of the
// two is merged, which would copy all entries.
func settings(parent, child types.Ignition) types.Ignition {
	return v3_6.Merge(types.Config{Ignition: parent}, types.Config{Ignition: child}).Ignition
}
