// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
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
// none, and turns the certificate authorities of the config into data URLs. A CA that several URLs provide is
// listed once. CAs are fetched with the client of the config that refers to this one, and for the outermost
// config with the CAs that this host trusts.
func (r *resolver) configureClient(ctx context.Context, ignition *types.Ignition) error {
	if r.client == nil {
		r.client = r.newClient(*ignition, nil)
	}
	parent, list := r.options.Parent, []types.Resource(nil)
	references := slices.Concat(caRefs(&parent), caRefs(ignition))
	if len(references) == 0 {
		r.client = r.newClient(*ignition, nil)
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return fmt.Errorf("reading the CAs that this host trusts: %w", err)
	}
	for _, reference := range references {
		content, err := r.get(ctx, reference)
		if err != nil {
			return err
		}
		if r.options.Offline && reference.isRemote() {
			continue
		}
		if err := fetch.CheckCA(content); err != nil {
			return fmt.Errorf("%s: %w", reference.describe(), err)
		}
		pool.AppendCertsFromPEM(content)
		resource := r.asDataURL(reference, content)
		isListed := func(other types.Resource) bool { return *other.Source == *resource.Source }
		if !slices.ContainsFunc(slices.Concat(parent.Security.TLS.CertificateAuthorities, list), isListed) {
			list = append(list, resource)
		}
	}
	ignition.Security.TLS.CertificateAuthorities = list
	r.client = r.newClient(*ignition, pool)
	return nil
}

func (r *resolver) newClient(ignition types.Ignition, roots *x509.CertPool) *fetch.Client {
	// Only the settings: a merge of whole configs would copy all entries.
	ignition = v3_6.Merge(types.Config{Ignition: r.options.Parent}, types.Config{Ignition: ignition}).Ignition
	seconds := func(timeout *int, unset time.Duration) time.Duration {
		if timeout == nil {
			return unset
		}
		return time.Duration(*timeout) * time.Second
	}
	return &fetch.Client{
		Log:           r.options.Log,
		RetryTimeout:  r.options.RetryTimeout,
		TotalTimeout:  seconds(ignition.Timeouts.HTTPTotal, 0),
		HeaderTimeout: seconds(ignition.Timeouts.HTTPResponseHeaders, headerTimeout),
		Roots:         roots,
		Proxy:         ProxyOf(ignition.Proxy),
		Explain: func(e *transport.Error) {
			if e.Kind == fetch.TooLarge {
				e.Message += ", or that is the total size of all contents"
			}
		},
		InitialBackoff: r.options.initialBackoff,
		StallTimeout:   r.options.stallTimeout,
	}
}
