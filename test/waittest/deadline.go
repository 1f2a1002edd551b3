// SPDX-License-Identifier: Apache-2.0

package waittest

import (
	"context"
	"sync"
	"testing"
	"time"
)

// Deadline returns a context whose deadline passes when the test calls pass. A test with a timeout instead would also
// limit the work before the event that it tests. After Timeout, the deadline passes too, and the test fails with
// the last observation, which seen returns. seen can be nil.
func Deadline(t *testing.T, event string, seen func() string) (ctx context.Context, pass func()) {
	t.Helper()
	d := &deadline{Context: context.WithoutCancel(t.Context()), passed: make(chan struct{})}
	pass = sync.OnceFunc(func() { close(d.passed) })
	limit := remaining(t)
	timer := time.AfterFunc(limit, func() {
		observation := "none"
		if seen != nil {
			observation = seen()
		}
		t.Errorf("%s: not within %s; last observation:\n%s", event, limit.Round(time.Second), observation)
		pass()
	})
	t.Cleanup(func() { timer.Stop(); pass() })
	return d, pass
}

// deadline is a context that ends as if its deadline had passed.
type deadline struct {
	context.Context // its values
	passed          chan struct{}
}

// Done returns a channel that is closed when the deadline has passed.
func (d *deadline) Done() <-chan struct{} { return d.passed }

// Err returns context.DeadlineExceeded after the deadline has passed.
func (d *deadline) Err() error {
	select {
	case <-d.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
