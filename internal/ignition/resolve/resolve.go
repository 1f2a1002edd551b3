// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	maxDepth      = 16 // of configs that refer to configs
	maxConfigs    = 64 // in total; Ignition has no limit
	headerTimeout = 10 * time.Second
)

// Options are the settings of Resolve. The zero value is valid.
type Options struct {
	Name    string        // of the config in messages; "" means "the config"
	Remedy  report.Remedy // for a config that is not valid
	Offline bool          // return an error for resources that need the network

	// Parent holds the settings of the config that refers to this one, such as user data. Its
	// proxy, timeouts and certificate authorities apply if the config has none.
	Parent types.Ignition

	Log          report.Log
	RetryTimeout time.Duration // for the retries of each URL without httpTotal; 0 means two minutes

	maxBytes                     int64         // of all configs and contents together, decoded; 0 means MaxDecodedBytes
	initialBackoff, stallTimeout time.Duration // shorter in tests
	dial                         func(ctx context.Context, network, address string) (net.Conn, error)
}

// Resolve parses a config, merges or replaces it as specified, and fetches, decodes and verifies
// all contents. It writes nothing. Errors are a report.Failure: Usage for an invalid config, and
// for resources that do not exist, do not match their hash, or are too large; CredentialRefused
// if a server requires another credential; Refused for a server that is not trusted; else
// Failed.
func Resolve(ctx context.Context, raw []byte, o Options) (*Document, error) {
	unpacker := NewUnpacker(cmp.Or(o.maxBytes, MaxDecodedBytes))
	r := &resolver{options: o, unpacker: unpacker, caContents: map[string][]byte{}}
	document, err := r.resolve(ctx, raw)
	if err != nil {
		code, remedy := report.Usage, cmp.Or(o.Remedy, "# correct the config")
		if inner := report.RemedyOf(err); inner != "" {
			code, remedy = report.CodeOf(err), inner
		}
		return nil, report.Fail(code, remedy, "reading %s: %w", cmp.Or(o.Name, "the config"), err)
	}
	return document, nil
}

// Offline resolves a complete config without the network. An error lists each resource that needs
// the network.
func Offline(raw []byte, name string, remedy report.Remedy) (*Document, error) {
	return Resolve(context.Background(), raw, Options{Name: name, Remedy: remedy, Offline: true})
}

// resolver holds the state of one call of Resolve.
type resolver struct {
	options    Options
	client     *fetch.Client
	unpacker   *Unpacker
	caContents map[string][]byte // CAs by source: each is fetched once, as in Ignition

	configs         int
	changed         bool // the result differs from the text of the config
	warnings        []string
	remoteResources []string // resources that need the network while Offline is set
}

// resolve combines two stages of Ignition: fetch, which merges the configs, and files, which
// fetches the contents with the settings of the merged config.
func (r *resolver) resolve(ctx context.Context, raw []byte) (*Document, error) {
	config, version, warnings, err := Parse(raw)
	if err != nil {
		return nil, err
	}
	r.warnings = warnings
	if err := r.configureClient(ctx, config.Ignition); err != nil {
		return nil, err
	}
	merged, err := r.merge(ctx, config, 0)
	if err != nil {
		return nil, err
	}
	if err := r.inlineCAs(ctx, &merged.Ignition); err != nil {
		return nil, err
	}
	list := contentRefs(&merged)
	if err := r.checkContents(list); err != nil {
		return nil, err
	}
	if r.changed {
		if err := Validate(merged); err != nil {
			return nil, fmt.Errorf("the merged config is not valid: %w", err)
		}
		if err := r.configureClient(ctx, merged.Ignition); err != nil {
			return nil, err
		}
	}
	for _, reference := range list {
		content, err := r.get(ctx, reference)
		if err != nil {
			return nil, err
		}
		*reference.resource = r.asDataURL(reference, content)
	}
	if r.changed {
		raw, err = encodeConfig(merged)
	}
	return &Document{Raw: raw, Version: version, Config: merged, Warnings: r.warnings}, err
}

// merge returns a config merged with the configs that it refers to, in order, so that the later
// one takes precedence, or the config that replaces it. References that can never be fetched are
// errors before any request, even if a merged config would replace them.
func (r *resolver) merge(ctx context.Context, config types.Config, depth int) (types.Config, error) {
	others, merged := nestedConfigs(&config.Ignition), config
	if config.Ignition.Config.Replace.Source != nil {
		merged = types.Config{Ignition: types.Ignition{Version: config.Ignition.Version}}
	}
	if err := checkSupported(slices.Concat(others, caRefs(&merged.Ignition), contentRefs(&merged))); err != nil {
		return types.Config{}, err
	}
	for _, reference := range others {
		r.changed = true
		if r.options.Offline && reference.isRemote() {
			r.remoteResources = append(r.remoteResources, reference.describe())
			continue
		}
		if r.configs++; r.configs > maxConfigs {
			return types.Config{}, fmt.Errorf("the configs refer to more than %d other configs", maxConfigs)
		}
		if depth == maxDepth {
			return types.Config{}, fmt.Errorf("the configs refer to other configs more than %d levels deep", maxDepth)
		}
		child, err := r.child(ctx, reference, depth)
		if err != nil {
			return types.Config{}, err
		}
		merged = v3_6.Merge(merged, child)
	}
	return merged, nil
}

// child fetches another config and merges the configs that it refers to.
func (r *resolver) child(ctx context.Context, reference resourceRef, depth int) (types.Config, error) {
	raw, err := r.get(ctx, reference)
	if err != nil {
		return types.Config{}, err
	}
	config, _, warnings, err := Parse(raw)
	if err == nil {
		for _, warning := range warnings {
			r.warnings = append(r.warnings, fmt.Sprintf("%s: %s", reference.describe(), warning))
		}
		config, err = r.merge(ctx, config, depth+1)
	}
	if err != nil {
		return types.Config{}, wrapError(reference, err)
	}
	return config, nil
}

// checkContents returns an error that lists all contents that cannot be fetched.
func (r *resolver) checkContents(list []resourceRef) error {
	if err := checkSupported(list); err != nil || !r.options.Offline {
		return err
	}
	for _, reference := range list {
		if reference.isRemote() {
			r.remoteResources = append(r.remoteResources, reference.describe())
		}
	}
	if len(r.remoteResources) > 0 {
		return report.Fail(report.Usage, "# use a config that contains all contents as data URLs; apply without --offline fetches them",
			"the config refers to resources on the network, which are not fetched offline: %s", joinFirst(r.remoteResources))
	}
	return nil
}

func wrapError(reference resourceRef, err error) error {
	return fmt.Errorf("%s: %w", reference.describe(), err)
}

func encodeConfig(config types.Config) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(config); err != nil {
		return nil, fmt.Errorf("encoding the config: %w", err)
	}
	return out.Bytes(), nil
}
