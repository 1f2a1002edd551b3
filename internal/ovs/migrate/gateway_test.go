// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// No default route of the machine leads to this gateway, so that probing it
// fails.
var unreachableGateway = netip.MustParseAddr("192.0.2.254")

func TestWatchGateway(t *testing.T) {
	for name, test := range map[string]struct {
		silent time.Duration
		known  bool
		ended  bool
	}{
		"answers":              {silent: 20 * time.Millisecond, known: true},
		"never answered":       {silent: 0, known: false},
		"silent for a while":   {silent: gatewayTimeout - time.Second, known: true},
		"silent for too long":  {silent: gatewayTimeout, known: true, ended: true},
		"silent for very long": {silent: time.Hour, known: true, ended: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				over := time.AfterFunc(time.Minute, func() { cancel(nil) })
				defer over.Stop()
				watchGateway(ctx, unreachableGateway, func() (time.Duration, bool) { return test.silent, test.known }, cancel)
				reported := strings.Contains(context.Cause(ctx).Error(), "the gateway 192.0.2.254 has not responded for")
				if reported != test.ended {
					t.Errorf("ended with %v", context.Cause(ctx))
				}
			})
		})
	}
}
