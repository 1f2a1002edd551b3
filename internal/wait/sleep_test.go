// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestSleep(t *testing.T) {
	for name, test := range map[string]struct {
		stopAfter time.Duration // when the context ends
		want      error
		took      time.Duration
	}{
		"the context stays active":     {stopAfter: time.Hour, want: nil, took: time.Minute},
		"the context ends during it":   {stopAfter: time.Second, want: context.Canceled, took: time.Second},
		"the context has ended before": {stopAfter: 0, want: context.Canceled, took: 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.stopAfter == 0 {
					cancel()
				}
				time.AfterFunc(test.stopAfter, cancel)
				started := time.Now()
				err := Sleep(ctx, time.Minute)
				if took := time.Since(started); !errors.Is(err, test.want) || took != test.took {
					t.Errorf("Sleep() = %v after %s, want %v after %s", err, took, test.want, test.took)
				}
			})
		})
	}
}
