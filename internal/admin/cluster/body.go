// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"net/http"
)

// bodyLimit is the context key for the maximum size of a response body.
type bodyLimit struct{}

// LimitBody returns a context in which a request fails with an http.MaxBytesError if the body of its response has more
// than limit bytes.
func LimitBody(ctx context.Context, limit int64) context.Context {
	return context.WithValue(ctx, bodyLimit{}, limit)
}

// bodyLimiter is a transport that applies LimitBody.
type bodyLimiter struct{ http.RoundTripper }

// RoundTrip sends a request.
func (l bodyLimiter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(request)
	if limit, isLimited := request.Context().Value(bodyLimit{}).(int64); isLimited && err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, limit)
	}
	return response, err
}
