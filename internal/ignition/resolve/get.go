package resolve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/vincent-petithory/dataurl"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/wire"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// get gives the content that a reference stands for, expanded and verified.
func (r *resolver) get(ctx context.Context, reference reference) ([]byte, error) {
	if !reference.remote() {
		content, err := r.unpacker.Inline(*reference.resource)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", reference.what, err)
		}
		return content, nil
	}
	source, err := reference.source()
	if err != nil {
		return nil, err
	}
	headers, err := reference.headers()
	if err != nil {
		return nil, within(reference, err)
	}
	answer, err := r.client.get(ctx, source, headers, r.unpacker.left)
	if err != nil {
		return nil, fmt.Errorf("%s: fetching %s: %w", reference.what, place(source), err)
	}
	r.fetched++
	content, err := r.unpacker.unpack(answer.body, *reference.resource)
	if err != nil {
		return nil, report.Fail(report.Usage, "# see what the server has there, and correct it or the config", "%s: %w", reference.need(), err)
	}
	if answer.clear && text(reference.resource.Verification.Hash) == "" {
		r.warnings = append(r.warnings, fmt.Sprintf("%s came unencrypted and without a verification: anybody on the way can change it", reference.need()))
	}
	return content, nil
}

// authority gives a certificate authority. The same source is asked but once,
// as in Ignition.
func (r *resolver) authority(ctx context.Context, reference reference) ([]byte, error) {
	source := *reference.resource.Source
	if content, known := r.cas[source]; known {
		return content, nil
	}
	content, err := r.get(ctx, reference)
	if err == nil {
		err = checkCA(reference, content)
	}
	if err != nil {
		return nil, err
	}
	r.cas[source] = content
	return content, nil
}

func checkCA(reference reference, content []byte) error {
	if err := wire.CheckCA(content); err != nil {
		return within(reference, err)
	}
	return nil
}

// settle makes the settings of a merged config its own: nothing is left to
// merge, and its authorities are in it. Two URLs can give the same authority,
// which must not be named twice.
func (r *resolver) settle(ctx context.Context, ignition *types.Ignition) error {
	ignition.Config = types.IgnitionConfig{}
	named := map[string]bool{}
	var kept []types.Resource
	for _, reference := range authorities(ignition) {
		resource := *reference.resource
		if r.options.Offline && reference.remote() {
			r.outside = append(r.outside, reference.need())
			continue
		}
		content, err := r.authority(ctx, reference)
		if err != nil {
			return err
		}
		if reference.remote() {
			r.changed = true
			resource = inlined(resource, content)
		}
		if !named[*resource.Source] {
			named[*resource.Source] = true
			kept = append(kept, resource)
		}
	}
	ignition.Security.TLS.CertificateAuthorities = kept
	return nil
}

// fill gets all contents, and puts those that were elsewhere into the config.
func (r *resolver) fill(ctx context.Context, config *types.Config, document *Document) error {
	for _, reference := range contents(config) {
		content, err := r.get(ctx, reference)
		if err != nil {
			return err
		}
		document.keep(reference, content)
		if reference.remote() {
			r.changed = true
			*reference.resource = inlined(*reference.resource, content)
		}
	}
	return nil
}

// inlined is a resource with its content in it. The hash is of the expanded
// content, and so stays true.
func inlined(resource types.Resource, content []byte) types.Resource {
	source := dataurl.New(content, "application/octet-stream").String()
	return types.Resource{Source: &source, Verification: resource.Verification}
}

func encode(config types.Config) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(config); err != nil {
		return nil, fmt.Errorf("encoding config: %w", err)
	}
	return out.Bytes(), nil
}
