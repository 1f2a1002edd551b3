package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Proxy selects the proxy for a request, as http.Transport.Proxy does. A nil
// Proxy uses the environment (HTTPS_PROXY, NO_PROXY).
type Proxy func(*http.Request) (*url.URL, error)

// requestTimeout limits one request that is not a watch.
const requestTimeout = 30 * time.Second

// api is a connection to the API server with one credential.
type api struct {
	client *kube.Client
	server string
	clock  *serverClock
	proxy  Proxy
	tls    *tls.Config // how the server certificate is verified; nil without a connection
}

func connect(config *rest.Config, proxy Proxy) (*api, error) {
	config = rest.CopyConfig(config)
	clock := &serverClock{}
	config.Wrap(clock.wrap)
	if proxy != nil {
		config.Proxy = proxy
	}
	client, err := kube.NewClient(config)
	if err != nil {
		return nil, err
	}
	verify, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %w", config.Host, err)
	}
	return &api{client: client, server: config.Host, clock: clock, proxy: proxy, tls: verify}, nil
}

// retry repeats request until it succeeds, fails permanently, or ctx ends. It
// logs every temporary failure, and blocks between attempts.
func (a *api) retry(ctx context.Context, log report.Log, doing string, request func(context.Context) error) error {
	pause := newBackoff()
	var last error // the last failure before ctx ended
	for {
		bounded, cancel := context.WithTimeout(ctx, requestTimeout)
		err := request(bounded)
		cancel()
		if err == nil {
			return nil
		}
		problem := a.explain(ctx, err)
		if problem.permanent {
			return problem.failure(doing, err)
		}
		next := pause.Step()
		if ctx.Err() == nil || last == nil {
			last = problem.failure(doing, err)
			log.WaitForRetry(doing+": "+problem.text, problem.remedy, next)
		}
		if !sleepContext(ctx, next) {
			return waitError(ctx, last)
		}
	}
}

// newBackoff returns a backoff that grows from one second to fifteen. The jitter
// keeps many nodes from reconnecting at the same moment.
func newBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: time.Second, Factor: 1.7, Jitter: 0.3, Steps: 1 << 30, Cap: 15 * time.Second}
}

// sleepContext waits for pause and reports whether ctx is still active.
func sleepContext(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// waitError returns the error for a wait that ctx ended: failure if the deadline
// passed, and the cause of the cancellation otherwise.
func waitError(ctx context.Context, failure error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return failure
	}
	return context.Cause(ctx)
}

// serverClock records the time of the server from the Date header of its
// responses.
type serverClock struct {
	mu         sync.Mutex
	serverDate time.Time
	receivedAt time.Time
}

// now returns the time of the server, or the local time if no response had a
// Date header.
func (c *serverClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.serverDate.IsZero() {
		return time.Now()
	}
	return c.serverDate.Add(time.Since(c.receivedAt))
}

func (c *serverClock) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			c.mu.Lock()
			c.serverDate, c.receivedAt = date, time.Now()
			c.mu.Unlock()
		}
		return response, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
