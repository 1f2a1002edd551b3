// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Limits of a response that is read into memory: a manifest, a config, a token, an error. Registries
// limit manifests to the same size. The config of an OS image has about 50 kB.
const (
	maxResponse        = 4 << 20
	maxResponseTimeout = 2 * time.Minute
)

// limitError is a response that exceeds a limit.
type limitError string

// Error returns the limit.
func (e limitError) Error() string { return string(e) }

var (
	errLarge = limitError(fmt.Sprintf("the response is larger than %d MiB", maxResponse>>20))
	errSlow  = limitError("the response is incomplete after " + maxResponseTimeout.String())
)

// limitedTransport limits the size of responses, and the time from the request to their end.
type limitedTransport struct{ http.RoundTripper }

// RoundTrip sends a request.
func (t limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	body := &limitedBody{left: maxResponse, ctx: ctx, cancel: cancel}
	body.timer = time.AfterFunc(maxResponseTimeout, func() { cancel(errSlow) })
	response, err := t.RoundTripper.RoundTrip(r.WithContext(ctx))
	if err != nil {
		body.stop()
		return nil, body.cause(err)
	}
	body.ReadCloser, response.Body = response.Body, body
	return response, nil
}

// limitedBody is the body of a response with limits.
type limitedBody struct {
	io.ReadCloser
	left   int64
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// Read fails when the response exceeds a limit.
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errLarge
	}
	return n, b.cause(err)
}

// Close closes the body.
func (b *limitedBody) Close() error {
	b.stop()
	return b.ReadCloser.Close()
}

// removeLimits removes the limits of the body.
func (b *limitedBody) removeLimits() {
	b.timer.Stop()
	b.left = 1<<63 - 1
}

func (b *limitedBody) stop() {
	b.timer.Stop()
	b.cancel(nil)
}

// cause returns errSlow if a read or request failed because its time was over, else err.
func (b *limitedBody) cause(err error) error {
	if err != nil && !errors.Is(err, io.EOF) && errors.Is(context.Cause(b.ctx), errSlow) {
		return errSlow
	}
	return err
}
