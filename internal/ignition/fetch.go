package ignition

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/resolve"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/wire"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	defaultBudget   = 2 * time.Minute
	defaultMaxBytes = 32 << 20 // payloads have about 450 kB
	firstPause      = time.Second
	longestPause    = 15 * time.Second
)

// Fetcher gets a payload from an ignition server.
type Fetcher struct {
	// ConnectTo is HOST:PORT that is dialled (or asked of the proxy) instead of
	// the source's. SNI, the Host header and the name that the certificate must
	// have stay those of the source.
	ConnectTo string
	Log       report.Log
	Budget    time.Duration // how long temporary failures are retried; 0 is two minutes
	MaxBytes  int64         // of the payload; 0 is 32 MiB

	pause time.Duration // before the second try; 0 is a second
}

// Fetch asks the stub's server for the payload until it comes, the failure is
// one that asking again does not mend, the budget is used up, or ctx ends.
// What the payload refers to is fetched too, so that it is whole. Errors are a
// report.Failure: CredentialRefused for a token that is not (or
// no longer) good, Usage for an endpoint or payload that is not one, Refused
// when the server cannot be trusted or found, else Failed.
//
// The server notes every request as "the node has come", whatever its method,
// so nothing but a GET that wants the payload is ever sent.
func (f Fetcher) Fetch(ctx context.Context, stub *Stub) (*Payload, error) {
	if err := stub.Validate(); err != nil {
		return nil, err
	}
	if _, _, err := net.SplitHostPort(f.ConnectTo); f.ConnectTo != "" && err != nil {
		return nil, report.Fail(report.Usage, "# give it as HOST:PORT", "the address to connect to, %q, is not HOST:PORT", f.ConnectTo)
	}
	began := time.Now()
	budget, pause := f.Budget, f.pause
	if budget == 0 {
		budget = defaultBudget
	}
	if pause == 0 {
		pause = firstPause
	}
	deadline := began.Add(budget)
	for tries := 1; ; tries++ {
		got, err := f.try(ctx, stub)
		if err == nil {
			return f.open(ctx, stub, got)
		}
		var no *refusal
		if !errors.As(err, &no) {
			return nil, err
		}
		left := time.Until(deadline)
		if !no.temporary || left <= 0 || ctx.Err() != nil {
			return nil, no.failure(ctx, stub, tries, time.Since(began))
		}
		next := min(wire.Pause(tries, pause, longestPause), left)
		f.Log.Again(fmt.Sprintf("%s %s: %s; asked again until %s", stub.server(), stub.Source.Host, no.what, deadline.Format(time.TimeOnly)), no.remedy, next)
		select {
		case <-time.After(next):
		case <-ctx.Done():
			return nil, no.failure(ctx, stub, tries, time.Since(began))
		}
	}
}

// open makes a payload of what was served. What it refers to is not the
// server's, and so is fetched as Ignition would: by this host's trust, the
// stub's CAs and its own, and the stub's proxy.
func (f Fetcher) open(ctx context.Context, stub *Stub, got *reply) (*Payload, error) {
	if stub.standalone() {
		if no := checkSpec(stub, specOf(got.raw)); no != nil {
			return nil, no.failure(ctx, stub, 1, 0)
		}
	}
	payload, err := Open(ctx, got.raw, resolve.Options{
		Name: "payload", Remedy: stub.whoseConfig(), Parent: stub.settings(), Log: f.Log, Budget: f.Budget,
	})
	if err != nil {
		return nil, fmt.Errorf("fetching payload from %s: %w", stub.Source.Host, err)
	}
	payload.Server, payload.ServerDate, payload.Skew = stub.Source.Host, got.date, got.skew
	return payload, nil
}

// refusal is a try that brought no payload: what happened, as one clause that
// follows "fetching payload from HOST:", and what can be done about it.
type refusal struct {
	what      string
	remedy    string
	code      report.Code
	temporary bool // asking again can help
	cause     error
}

func (r *refusal) Error() string { return r.what }
func (r *refusal) Unwrap() error { return r.cause }

// failure is what the caller is told in the end.
func (r *refusal) failure(ctx context.Context, stub *Stub, tries int, took time.Duration) error {
	how := ""
	if tries > 1 {
		how = fmt.Sprintf(" (%d tries in %s)", tries, took.Round(100*time.Millisecond))
	}
	if err := ctx.Err(); err != nil && r.temporary {
		return report.Fail(r.code, r.remedy, "fetching payload from %s: %w; last seen%s: %w", stub.Source.Host, err, how, r)
	}
	return report.Fail(r.code, r.remedy, "fetching payload from %s: %w%s", stub.Source.Host, r, how)
}
