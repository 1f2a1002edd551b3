package resolve

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	maxDepth   = 16 // of configs that refer to configs
	maxConfigs = 64 // in all; Ignition would go on for ever
)

// resolver holds what changes while one config is resolved.
type resolver struct {
	options  Options
	client   *client
	unpacker *Unpacker
	cas      map[string][]byte // by source, as they are fetched but once

	configs  int
	fetched  int
	changed  bool // the result is not the text that came in
	warnings []string
	outside  []string // what needs the network, when there is none
}

func newResolver(o Options) *resolver {
	c := &client{log: o.Log, budget: o.Budget, pause: o.pause, stall: o.stall, dial: o.dial}
	return &resolver{options: o, client: c, unpacker: NewUnpacker(o.MaxBytes), cas: map[string][]byte{}}
}

// render does what ignition.config of a config says: a replacement ends the
// config, merged ones are taken in order, and the later wins. chain are the
// URLs that led here.
//
// The client goes through the same settings as Ignition's one: those of the
// last config that was read, over those of the config that refers to it.
func (r *resolver) render(ctx context.Context, config types.Config, chain []string) (types.Config, error) {
	if err := r.checkBefore(&config); err != nil {
		return types.Config{}, err
	}
	merged := config
	if config.Ignition.Config.Replace.Source != nil {
		merged = types.Config{Ignition: types.Ignition{Version: config.Ignition.Version}}
	}
	for _, reference := range nested(&config.Ignition) {
		r.changed = true
		if r.options.Offline && reference.remote() {
			r.outside = append(r.outside, reference.need())
			continue
		}
		from, err := r.lineage(reference, chain)
		if err != nil {
			return types.Config{}, err
		}
		child, err := r.config(ctx, reference)
		if err != nil {
			return types.Config{}, err
		}
		if err := r.use(ctx, settings(merged.Ignition, child.Ignition)); err != nil {
			return types.Config{}, within(reference, err)
		}
		if child, err = r.render(ctx, child, from); err != nil {
			return types.Config{}, within(reference, err)
		}
		merged = v3_6.Merge(merged, child)
	}
	return merged, nil
}

// checkBefore refuses what can never be had before anything is fetched: in
// Ignition a merged config could still put something else in its place, but
// until then it would have asked servers in vain.
func (r *resolver) checkBefore(config *types.Config) error {
	list := nested(&config.Ignition)
	if config.Ignition.Config.Replace.Source == nil {
		list = append(append(list, authorities(&config.Ignition)...), contents(config)...)
	}
	return possible(list)
}

// check refuses what cannot be had, all of it at once.
func (r *resolver) check(list []reference) error {
	if err := possible(list); err != nil || !r.options.Offline {
		return err
	}
	for _, reference := range list {
		if reference.remote() {
			r.outside = append(r.outside, reference.need())
		}
	}
	if len(r.outside) > 0 {
		return report.Fail(report.Usage, "# give it a config that has all in it (contents as data URLs), or let it use the network",
			"it needs the network, which is not to be used: %s", some(r.outside))
	}
	return nil
}

func possible(list []reference) error {
	if problems := unsupported(list); len(problems) > 0 {
		return report.Fail(report.Usage, "# put the content into the config as a data URL, or on a web server",
			"it refers to what cannot be fetched: %s", some(problems))
	}
	return nil
}

// lineage is the chain with one URL more, unless that goes on for ever.
func (r *resolver) lineage(reference reference, chain []string) ([]string, error) {
	if r.configs++; r.configs > maxConfigs {
		return nil, fmt.Errorf("its configs refer to more than %d others", maxConfigs)
	}
	if len(chain) == maxDepth {
		return nil, fmt.Errorf("its configs refer to others more than %d deep", maxDepth)
	}
	source := *reference.resource.Source
	if reference.remote() && slices.Contains(chain, source) {
		return nil, fmt.Errorf("%s leads to itself", reference.need())
	}
	return append(slices.Clip(chain), source), nil
}

// config gets and reads another config.
func (r *resolver) config(ctx context.Context, reference reference) (types.Config, error) {
	raw, err := r.get(ctx, reference)
	if err != nil {
		return types.Config{}, err
	}
	config, _, warnings, err := Parse(raw)
	if err != nil {
		return types.Config{}, within(reference, err)
	}
	for _, warning := range warnings {
		r.warnings = append(r.warnings, fmt.Sprintf("%s: %s", reference.need(), warning))
	}
	return config, nil
}

func within(reference reference, err error) error {
	return fmt.Errorf("%s: %w", reference.need(), err)
}

// use has the client fetch with the settings of a config. Authorities are
// fetched with its other settings and those authorities that counted so far,
// which also stay where it names none.
func (r *resolver) use(ctx context.Context, ignition types.Ignition) error {
	r.client.use(ignition)
	list := authorities(&ignition)
	if len(list) == 0 {
		return nil
	}
	if err := possible(list); err != nil {
		return err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return fmt.Errorf("reading this host's certificate authorities: %w", err)
	}
	for _, reference := range list {
		if r.options.Offline && reference.remote() {
			continue // named in settle
		}
		content, err := r.authority(ctx, reference)
		if err != nil {
			return err
		}
		pool.AppendCertsFromPEM(content)
	}
	r.client.trust(pool)
	return nil
}

// source is the URL of a reference.
func (r reference) source() (*url.URL, error) {
	source, err := url.Parse(strings.TrimSpace(*r.resource.Source))
	if err != nil {
		return nil, fmt.Errorf("%s is at a URL that cannot be read", r.what)
	}
	return source, nil
}
