// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// ProxyOf returns the proxy settings of a config.
func ProxyOf(config types.Proxy) fetch.Proxy {
	proxy := fetch.Proxy{HTTP: ptr.Deref(config.HTTPProxy, ""), HTTPS: ptr.Deref(config.HTTPSProxy, "")}
	for _, item := range config.NoProxy {
		proxy.No = append(proxy.No, string(item))
	}
	return proxy
}

// configureClient creates the client with the settings of a config, and of the parent if the config has
// none. Certificate authorities are fetched with the other settings and the CAs that this host
// trusts.
func (r *resolver) configureClient(ctx context.Context, ignition types.Ignition) error {
	// Only the settings: a merge of whole configs would copy all entries.
	ignition = v3_6.Merge(types.Config{Ignition: r.options.Parent}, types.Config{Ignition: ignition}).Ignition
	c := &fetch.Client{
		Log: r.options.Log, RetryTimeout: r.options.RetryTimeout, HeaderTimeout: headerTimeout,
		Proxy:          ProxyOf(ignition.Proxy),
		InitialBackoff: r.options.initialBackoff, StallTimeout: r.options.stallTimeout, Dial: r.options.dial,
	}
	if t := ignition.Timeouts.HTTPResponseHeaders; t != nil {
		c.HeaderTimeout = time.Duration(*t) * time.Second
	}
	if t := ignition.Timeouts.HTTPTotal; t != nil {
		c.TotalTimeout = time.Duration(*t) * time.Second
	}
	c.Explain = func(e *transport.Error) {
		if e.Kind == fetch.TooLarge {
			e.Message += ", or that is the total size of all contents"
		}
	}
	r.client = c
	list := caRefs(&ignition)
	if err := checkSupported(list); err != nil || len(list) == 0 {
		return err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return fmt.Errorf("reading the CAs that this host trusts: %w", err)
	}
	for _, reference := range list {
		if r.options.Offline && reference.isRemote() {
			continue // reported by inlineCAs
		}
		content, err := r.getCA(ctx, reference)
		if err != nil {
			return err
		}
		pool.AppendCertsFromPEM(content)
	}
	c.Roots = pool
	return nil
}

// getCA returns a certificate authority.
func (r *resolver) getCA(ctx context.Context, reference resourceRef) ([]byte, error) {
	source := *reference.resource.Source
	if content, known := r.caContents[source]; known {
		return content, nil
	}
	content, err := r.get(ctx, reference)
	if err != nil {
		return nil, err
	}
	if err := fetch.CheckCA(content); err != nil {
		return nil, wrapError(reference, err)
	}
	r.caContents[source] = content
	return content, nil
}

// inlineCAs completes the settings of a merged config: it removes the references to
// other configs and turns the certificate authorities into data URLs. A CA that several URLs
// provide is listed once.
func (r *resolver) inlineCAs(ctx context.Context, ignition *types.Ignition) error {
	ignition.Config = types.IgnitionConfig{}
	listed := map[string]bool{}
	var list []types.Resource
	for _, reference := range caRefs(ignition) {
		if r.options.Offline && reference.isRemote() {
			r.remoteResources = append(r.remoteResources, reference.describe())
			continue
		}
		content, err := r.getCA(ctx, reference)
		if err != nil {
			return err
		}
		if resource := r.asDataURL(reference, content); !listed[*resource.Source] {
			listed[*resource.Source] = true
			list = append(list, resource)
		}
	}
	ignition.Security.TLS.CertificateAuthorities = list
	return nil
}
