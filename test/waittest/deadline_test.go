// SPDX-License-Identifier: Apache-2.0

package waittest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Contexts that are derived from the context end like it.
func TestDeadline(t *testing.T) {
	ctx, pass := waittest.Deadline(t, "the event", nil)
	limited, stop := context.WithTimeout(ctx, waittest.Timeout)
	defer stop()
	if ctx.Err() != nil || limited.Err() != nil {
		t.Fatalf("before the event: %v, %v", ctx.Err(), limited.Err())
	}
	pass()
	pass()
	<-limited.Done()
	for _, err := range []error{ctx.Err(), context.Cause(ctx), limited.Err(), context.Cause(limited)} {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the event: %v", err)
		}
	}
}
