// SPDX-License-Identifier: Apache-2.0

package trace

import "net/http"

// Transport returns a transport that records each request with the recorder of its context. The name of a span has no
// query and no user, which can be secrets.
func Transport(next http.RoundTripper) http.RoundTripper { return transport{next} }

type transport struct{ http.RoundTripper }

// RoundTrip sends a request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	defer Start(r.Context(), Request, r.Method+" "+r.URL.Host+r.URL.Path)()
	return t.RoundTripper.RoundTrip(r)
}
