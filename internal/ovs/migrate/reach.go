package migrate

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Endpoint is somebody who has to answer before the network is changed and after.
type Endpoint struct {
	Name    string      // for people: "the API server"
	Address string      // HOST:PORT
	TLS     *tls.Config // nil: a TCP connection is enough
}

const (
	reachEach  = 5 * time.Second  // one attempt
	reachTotal = 20 * time.Second // how long somebody may go without an answer
)

// checkEndpoints connects to all of them at once.
func (d *Driver) checkEndpoints(ctx context.Context, all []Endpoint) error {
	errs := make([]error, len(all))
	var connecting sync.WaitGroup
	for i, reach := range all {
		connecting.Go(func() { errs[i] = reach.within(ctx, reachTotal) })
	}
	connecting.Wait()
	for i, err := range errs {
		if err != nil {
			host, _, _ := net.SplitHostPort(all[i].Address)
			return report.Fail(report.Failed, "getent hosts "+host, "%s (%s) does not answer: %w", all[i].Name, all[i].Address, err)
		}
	}
	return nil
}

// within tries until the time is over; the last error counts.
func (r Endpoint) within(ctx context.Context, total time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, total)
	defer cancel()
	for {
		err := r.connect(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

func (r Endpoint) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reachEach)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if r.TLS == nil {
		return nil
	}
	// A handshake is large enough to notice an MTU that does not fit.
	if err := tls.Client(conn, r.TLS).HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS handshake: %w", err)
	}
	return nil
}
