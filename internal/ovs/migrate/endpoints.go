// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Endpoint is an address that must be reachable before and after the change of
// the network.
type Endpoint struct {
	Name    string      // as in messages: "the API server"
	Address string      // HOST:PORT
	TLS     *tls.Config // nil: a TCP connection is sufficient
}

const (
	connectTimeout  = 5 * time.Second  // one attempt
	endpointTimeout = 20 * time.Second // until an endpoint must be reachable
)

// checkEndpoints connects to all endpoints at once.
func (d *Driver) checkEndpoints(ctx context.Context, all []Endpoint) error {
	errs := make([]error, len(all))
	var connecting sync.WaitGroup
	for i, endpoint := range all {
		connecting.Go(func() { errs[i] = endpoint.awaitConnection(ctx, endpointTimeout) })
	}
	connecting.Wait()
	for i, err := range errs {
		if err != nil {
			host, _, _ := net.SplitHostPort(all[i].Address)
			return report.Fail(report.Failed, report.Remedy("getent hosts "+host),
				"%s (%s) is unreachable: %w", all[i].Name, all[i].Address, err)
		}
	}
	return nil
}

// awaitConnection repeats Connect until it succeeds or the time expires, and returns the
// last error.
func (e Endpoint) awaitConnection(ctx context.Context, total time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, total)
	defer cancel()
	for {
		err := e.Connect(ctx)
		if err == nil {
			return nil
		}
		if wait.Sleep(ctx, time.Second) != nil {
			return err
		}
	}
}

// Connect connects once.
func (e Endpoint) Connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", e.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if e.TLS == nil {
		return nil
	}
	// A handshake is large enough to detect a wrong MTU.
	return wrap.Errorf(tls.Client(conn, e.TLS).HandshakeContext(ctx), "TLS handshake")
}
