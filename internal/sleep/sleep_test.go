package sleep

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	errStopped := errors.New("stopped")
	for name, test := range map[string]struct {
		stopAfter time.Duration // when the context ends
		want      error
		took      time.Duration
	}{
		"the context stays active":     {stopAfter: time.Hour, want: nil, took: time.Minute},
		"the context ends during it":   {stopAfter: time.Second, want: errStopped, took: time.Second},
		"the context has ended before": {stopAfter: 0, want: errStopped, took: 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if test.stopAfter == 0 {
					cancel(errStopped)
				}
				time.AfterFunc(test.stopAfter, func() { cancel(errStopped) })
				started := time.Now()
				err := For(ctx, time.Minute)
				if took := time.Since(started); !errors.Is(err, test.want) || took != test.took {
					t.Errorf("For() = %v after %s, want %v after %s", err, took, test.want, test.took)
				}
			})
		})
	}
}
