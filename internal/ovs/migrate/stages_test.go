// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestExplainTimeout checks that the error about a change that took too long names the setting and what was awaited,
// and that other errors are unchanged.
func TestExplainTimeout(t *testing.T) {
	d := &Driver{RollbackTimeout: 2 * time.Minute}
	awaited := stage{what: "br-ex to have a port for eth0"}
	ended, cancel := context.WithTimeoutCause(t.Context(), 0, errChangeTimeout)
	defer cancel()
	<-ended.Done()
	got := d.explainTimeout(ended, awaited, ended.Err()).Error()
	for _, text := range []string{"1m30s", "--network-timeout 2m0s", awaited.what} {
		if !strings.Contains(got, text) {
			t.Errorf("%q does not contain %q", got, text)
		}
	}
	canceled, stop := context.WithCancel(t.Context())
	stop()
	if got := d.explainTimeout(canceled, awaited, context.Canceled).Error(); got != context.Canceled.Error() {
		t.Errorf("after an interruption: %s", got)
	}
}
