// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

const (
	maxConfigs    = 64 // that a config refers to, in total; Ignition has no limit
	headerTimeout = 10 * time.Second
)

// Document is a config that refers to nothing outside itself.
type Document struct {
	// Raw is the text of the config if it was complete, else JSON of the newest spec. Raw is a
	// credential if the config or a resource of it is one.
	Raw      []byte
	Version  string       // the spec of the outermost config
	Config   types.Config // merged, translated to the newest spec; all sources are data URLs
	Warnings []string     // of Ignition's own validation, and about unencrypted resources
	Contents Contents     // of Config, decoded and verified
}

// Format excludes the contents from every verb.
func (d Document) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "Ignition config of spec %s, %d bytes", d.Version, len(d.Raw))
}

// Options are the settings of Resolve. The zero value is valid.
type Options struct {
	Name    string        // of the config in messages; "" means "the config"
	Remedy  report.Remedy // for a config that is not valid
	Offline bool          // return an error for resources that need the network
	Parsed  *Parsed       // the result of Parse for the config, if known; Resolve changes it

	// Parent holds the settings of the config that refers to this one, such as user data. Its
	// proxy, timeouts and certificate authorities apply if the config has none.
	Parent types.Ignition

	Log          report.Log
	RetryTimeout time.Duration // for the retries of each URL without httpTotal; 0 means two minutes

	maxBytes                     int64         // of all configs and contents together, decoded; 0 means MaxDecodedBytes
	initialBackoff, stallTimeout time.Duration // shorter in tests
}

// Resolve parses a config, merges or replaces it as specified, and fetches, decodes and verifies
// all contents. It writes nothing. Errors are a report.Failure: Usage for an invalid config, and
// for resources that do not exist, do not match their hash, or are too large; CredentialRefused
// if a server requires another credential; Refused for a server that is not trusted; else
// Failed.
func Resolve(ctx context.Context, raw []byte, o Options) (*Document, error) {
	r := &resolver{options: o, unpacker: Unpacker{limit: o.maxBytes}}
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
	options  Options
	client   *fetch.Client
	unpacker Unpacker

	configs         int
	changed         bool // the result differs from the text of the config
	warnings        []string
	remoteResources []string // resources that need the network while Offline is set
}

// resolve combines two stages of Ignition: fetch, which merges the configs, and files, which
// fetches the contents with the settings of the merged config.
func (r *resolver) resolve(ctx context.Context, raw []byte) (*Document, error) {
	parsed, err := r.options.Parsed, error(nil)
	if parsed == nil {
		parsed, err = Parse(raw)
	}
	if err == nil {
		err = r.accept(parsed, "")
	}
	if err != nil {
		return nil, err
	}
	config := parsed.Config
	if err := r.configureClient(ctx, &config.Ignition); err != nil {
		return nil, err
	}
	merged, err := r.merge(ctx, config)
	if err != nil {
		return nil, err
	}
	merged.Ignition.Config = types.IgnitionConfig{}
	if err := r.configureClient(ctx, &merged.Ignition); err != nil {
		return nil, err
	}
	var contents Contents
	for _, reference := range contentRefs(&merged) {
		content, err := r.get(ctx, reference)
		if err != nil {
			return nil, err
		}
		contents.add(reference, content)
		*reference.resource = r.asDataURL(reference, content)
	}
	if len(r.remoteResources) > 0 {
		return nil, report.Fail(report.Usage,
			"# embed the contents as data URLs; plan --user-data and apply without --offline fetch them",
			"the config refers to resources on the network, which are not fetched offline: %s", joinFirst(r.remoteResources))
	}
	if r.changed {
		if err := Validate(merged); err != nil {
			return nil, fmt.Errorf("the merged config is not valid: %w", err)
		}
		if raw, err = encodeConfig(merged); err != nil {
			return nil, err
		}
	}
	return &Document{
		Raw: raw, Version: parsed.Version, Config: merged, Warnings: r.warnings, Contents: contents,
	}, nil
}

// accept collects the warnings of a config. References that can never be fetched are errors, even if
// a merged config would replace them.
func (r *resolver) accept(parsed *Parsed, warningPrefix string) error {
	config := &parsed.Config
	for _, warning := range parsed.Warnings {
		r.warnings = append(r.warnings, warningPrefix+warning)
	}
	list := slices.Concat(nestedConfigs(&config.Ignition), caRefs(&config.Ignition))
	if config.Ignition.Config.Replace.Source == nil {
		list = append(list, contentRefs(config)...)
	}
	return checkSupported(list)
}

// merge returns a config merged with the configs that it refers to, in order, so that the later
// one takes precedence, or the config that replaces it.
func (r *resolver) merge(ctx context.Context, config types.Config) (types.Config, error) {
	merged := config
	if config.Ignition.Config.Replace.Source != nil {
		merged = types.Config{Ignition: types.Ignition{Version: config.Ignition.Version}}
	}
	for _, reference := range nestedConfigs(&config.Ignition) {
		r.changed = true
		if r.configs++; r.configs > maxConfigs {
			return merged, fmt.Errorf("the configs refer to more than %d other configs", maxConfigs)
		}
		raw, err := r.get(ctx, reference)
		if err != nil {
			return merged, err
		}
		if r.options.Offline && reference.isRemote() {
			continue
		}
		child, err := r.mergeNested(ctx, raw, reference.describe()+": ")
		if err != nil {
			return merged, fmt.Errorf("%s: %w", reference.describe(), err)
		}
		merged = v3_6.Merge(merged, child)
	}
	return merged, nil
}

// mergeNested parses a config that another config refers to, and merges it with those that it refers to itself.
func (r *resolver) mergeNested(ctx context.Context, raw []byte, warningPrefix string) (types.Config, error) {
	parsed, err := Parse(raw)
	if err == nil {
		err = r.accept(parsed, warningPrefix)
	}
	if err != nil {
		return types.Config{}, err
	}
	return r.merge(ctx, parsed.Config)
}

func encodeConfig(config types.Config) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(config)
	return out.Bytes(), wrap.Errorf(err, "encoding the config")
}
