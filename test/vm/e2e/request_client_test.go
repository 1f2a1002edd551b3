// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// requests are the results of the requests of a period.
type requests struct {
	began                     time.Time
	sent, failed              int
	inARow, longest           int // failed requests: the last ones, and the longest sequence
	firstFailure, lastFailure time.Time
	lastError                 string
}

// requestClient sends requests from outside the cluster until its test ends, twice a second.
type requestClient struct {
	mu    sync.Mutex
	since requests
}

// newRequestClient starts a client of the Deployment.
func newRequestClient(ctx context.Context, t *testing.T) *requestClient {
	t.Helper()
	url := webURL(ctx, t)
	ctx, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	client := &requestClient{since: requests{began: time.Now()}}
	go func() {
		for ticks := time.Tick(500 * time.Millisecond); ctx.Err() == nil; <-ticks {
			_, err := getOutside(url)
			if err != nil && ctx.Err() == nil {
				err = fmt.Errorf("%w; then %s", err, webEndpoints(ctx))
			}
			client.add(err)
		}
	}()
	return client
}

// webEndpoints returns which pods of the Deployment get requests.
func webEndpoints(ctx context.Context) string {
	list, err := environment.Client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=web",
	})
	if err != nil {
		return "the endpoints are unknown: " + err.Error()
	}
	text := "the endpoints were:"
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			conditions := endpoint.Conditions
			text += fmt.Sprintf(" %s (ready %t, terminating %t)", endpoint.Addresses[0], ptr.Deref(conditions.Ready, true),
				ptr.Deref(conditions.Terminating, false))
		}
	}
	return text
}

func (c *requestClient) add(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since.sent++
	if err == nil {
		c.since.inARow = 0
		return
	}
	c.since.failed++
	c.since.inARow++
	c.since.longest = max(c.since.longest, c.since.inARow)
	c.since.lastFailure, c.since.lastError = time.Now(), err.Error()
	if c.since.firstFailure.IsZero() {
		c.since.firstFailure = c.since.lastFailure
	}
}

// isInterrupted reports whether two requests in a row failed. A single one was reset in three earlier runs, for an
// unknown reason: its error contains the endpoints at that time.
func (r requests) isInterrupted() bool { return r.longest > 1 }

// take logs and returns the results since the last call, and starts the next period.
func (c *requestClient) take(t *testing.T, period string) requests {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.since
	c.since = requests{began: time.Now()}
	t.Logf("client: %d of %d requests failed during %s", taken.failed, taken.sent, period)
	if taken.failed > 0 {
		t.Logf("client: the first failed after %s, the last after %s: %s",
			taken.firstFailure.Sub(taken.began).Round(time.Second),
			taken.lastFailure.Sub(taken.began).Round(time.Second), taken.lastError)
	}
	if taken.sent == 0 {
		t.Errorf("the client has sent nothing during %s", period)
	}
	return taken
}
