package ignition

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Probe is what a look at the ignition server found.
type Probe struct {
	Skew      time.Duration // the server's clock minus this host's; 0 when it gave none
	Temporary error         // what asking again can mend, as a server that is not up yet
}

// Probe connects to the stub's server, checks its certificate, and asks for
// /healthz, which needs no token and, unlike a request for the payload, is not
// noted by the server as "the node has come".
func (f Fetcher) Probe(ctx context.Context, stub *Stub) (Probe, error) {
	if err := stub.Validate(); err != nil {
		return Probe{}, err
	}
	if _, _, err := net.SplitHostPort(f.ConnectTo); f.ConnectTo != "" && err != nil {
		return Probe{}, report.Fail(report.Usage, "# give it as HOST:PORT", "the address to connect to, %q, is not HOST:PORT", f.ConnectTo)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout+headerTimeout)
	defer cancel()
	health := *stub.Source
	health.Path, health.RawQuery = "/healthz", ""
	response, err := roundTrip(ctx, stub, &health, nil, f.ConnectTo)
	if err == nil {
		defer response.Body.Close()
		_, skew := serverClock(response, time.Now())
		return Probe{Skew: skew}, nil
	}
	err = explain(stub, f.ConnectTo, err)
	var no *refusal
	if !errors.As(err, &no) {
		return Probe{}, err
	}
	failure := no.failure(ctx, stub, 1, 0)
	if no.temporary {
		return Probe{Temporary: failure}, nil
	}
	return Probe{}, failure
}
