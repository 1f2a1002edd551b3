// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// TestExplainEnd checks that the error about a change that took too long names the setting and what was awaited,
// that a silent gateway is the error, and that other errors are unchanged.
func TestExplainEnd(t *testing.T) {
	d := &Driver{RollbackTimeout: 2 * time.Minute}
	awaited := stage{what: "br-ex to have a port for eth0"}
	ended, cancel := context.WithTimeoutCause(t.Context(), 0, errChangeTimeout)
	defer cancel()
	<-ended.Done()
	got := d.explainEnd(ended, awaited, ended.Err()).Error()
	for _, text := range []string{"1m30s", "--network-timeout 2m0s", awaited.what} {
		if !strings.Contains(got, text) {
			t.Errorf("%q does not contain %q", got, text)
		}
	}
	canceled, stop := context.WithCancel(t.Context())
	stop()
	if got := d.explainEnd(canceled, awaited, context.Canceled).Error(); got != context.Canceled.Error() {
		t.Errorf("after an interruption: %s", got)
	}
	silent, end := context.WithCancelCause(t.Context())
	gateway := errors.New("the gateway has not responded")
	end(gateway)
	if got := d.explainEnd(silent, awaited, context.Canceled); !errors.Is(got, gateway) {
		t.Errorf("with a silent gateway: %v", got)
	}
	if got := d.explainEnd(t.Context(), awaited, io.EOF); !errors.Is(got, io.EOF) {
		t.Errorf("while the context has not ended: %v", got)
	}
}
