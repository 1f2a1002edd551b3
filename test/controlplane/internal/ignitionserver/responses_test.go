// SPDX-License-Identifier: Apache-2.0

package ignitionserver_test

import (
	"encoding/base64"
	"net/http"
	"testing"
)

func TestResponses(t *testing.T) {
	const plain, html = "text/plain; charset=utf-8", "text/html; charset=utf-8"
	const redirected = "<a href=\"/ignition\">Temporary Redirect</a>.\n\n"
	s := start(t, payload)
	encode := func(token string) string { return base64.StdEncoding.EncodeToString([]byte(token)) }
	for _, test := range []struct {
		name, method, path, authorization string
		status                            int
		contentType, body                 string
	}{
		{"good token", "GET", "/ignition", s.bearer(), 200, "application/json; charset=utf-8", payload},
		{"path with more", "GET", "/ignitionfoo", s.bearer(), 200, "application/json; charset=utf-8", payload},
		{"method is ignored", "POST", "/ignition", s.bearer(), 200, "application/json; charset=utf-8", payload},
		{"HEAD has no body", "HEAD", "/ignition", s.bearer(), 200, "application/json; charset=utf-8", ""},
		{
			"HEAD with an unknown token", "HEAD", "/ignition", "Bearer " + encode("0e2e5f3c-0000-4000-8000-000000000000"), 511,
			plain, "",
		},
		{"path with two slashes", "GET", "//ignition", s.bearer(), 307, html, redirected},
		{"path with a parent", "GET", "/x/../ignition", s.bearer(), 307, html, redirected},
		{"path with a dot, without a token", "GET", "/./ignition", "", 307, html, redirected},
		{"path with a slash", "GET", "/ignition/", s.bearer(), 404, plain, "404 page not found\n"},
		{"standalone's path", "GET", "/config/worker", s.bearer(), 404, plain, "404 page not found\n"},
		{"wrong path is reported before the token is checked", "GET", "/", "", 404, plain, "404 page not found\n"},
		{"no header", "GET", "/ignition", "", 401, plain, "Unauthorized\n"},
		{"another scheme", "GET", "/ignition", "Basic " + encode(s.Token()), 401, plain, "Unauthorized\n"},
		{"prefix in lower case", "GET", "/ignition", "bearer " + encode(s.Token()), 401, plain, "Unauthorized\n"},
		{"token in plain text", "GET", "/ignition", "Bearer " + s.Token(), 401, plain, "Unauthorized\n"},
		{"token encoded twice", "GET", "/ignition", "Bearer " + encode(encode(s.Token())), 511, plain, "Token not found\n"},
		{
			"unknown token", "GET", "/ignition", "Bearer " + encode("0e2e5f3c-0000-4000-8000-000000000000"), 511, plain,
			"Token not found\n",
		},
		{"empty token: HTTP strips the space", "GET", "/ignition", "Bearer ", 401, plain, "Unauthorized\n"},
		{"health needs no token", "GET", "/healthz", "", 200, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := s.do(t, test.method, test.path, map[string]string{"Authorization": test.authorization})
			if err != nil {
				t.Fatal(err)
			}
			if got.status != test.status || got.body != test.body {
				t.Errorf("got %d %q, want %d %q", got.status, got.body, test.status, test.body)
			}
			if contentType := got.header.Get("Content-Type"); contentType != test.contentType {
				t.Errorf("Content-Type is %q, want %q", contentType, test.contentType)
			}
			if location := got.header.Get("Location"); (got.status == 307) != (location == "/ignition") {
				t.Errorf("Location is %q", location)
			}
			if got.protocol != "HTTP/1.1" {
				t.Errorf("the answer is %s, want HTTP/1.1", got.protocol)
			}
		})
	}
}

// The upstream server serves what can be decoded into the types of spec 3.2.
func TestPayloadIsCheckedByTypes(t *testing.T) {
	for payload, status := range map[string]int{
		`{}`:                               200,
		`null`:                             200,
		`{"ignition":{"version":"9.9.9"}}`: 200,
		`{"unknown":{}}`:                   200,
		`[]`:                               500,
		`{"storage":{"files":{}}}`:         500,
		`{"ignition":{"version":3.2}}`:     500,
		``:                                 500,
	} {
		s := start(t, payload)
		got, err := s.get(t, "/ignition", map[string]string{"Authorization": s.bearer()})
		if err != nil || got.status != status || status == 200 && got.body != payload {
			t.Errorf("%s: got %+v, %v; want %d", payload, got, err, status)
		}
	}
}

func TestInvalidPayloadIs500UnlessUnchecked(t *testing.T) {
	const broken = `{"ignition":{"version":"3.2`
	s := start(t, payload)
	header := map[string]string{"Authorization": s.bearer()}

	s.SetPayload([]byte(broken), false)
	got, err := s.get(t, "/ignition", header)
	if err != nil || got.status != http.StatusInternalServerError || got.body != "Invalid ignition payload\n" {
		t.Errorf("checked: got %+v, %v; want 500", got, err)
	}
	s.SetPayload([]byte(broken), true)
	got, err = s.get(t, "/ignition", header)
	if err != nil || got.status != http.StatusOK || got.body != broken {
		t.Errorf("unchecked: got %+v, %v; want 200 and the bytes", got, err)
	}
	s.Reset()
	if got, err = s.get(t, "/ignition", header); err != nil || got.body != payload {
		t.Errorf("after a reset: got %+v, %v", got, err)
	}
}

func TestPreviousTokenIsValidForOneRotation(t *testing.T) {
	s := start(t, payload)
	first := s.Token()
	for _, step := range []struct {
		do          func()
		first, last int
	}{
		{func() {}, 200, 200},
		{s.RotateToken, 200, 200},
		{s.RotateToken, 511, 200},
		{s.DeleteTokens, 511, 511},
		{s.Reset, 511, 200},
	} {
		last := s.Token()
		if step.do(); s.Token() != "" {
			last = s.Token()
		}
		if got := s.status(t, first); got != step.first {
			t.Errorf("the first token: got %d, want %d", got, step.first)
		}
		if got := s.status(t, last); got != step.last {
			t.Errorf("the last token: got %d, want %d", got, step.last)
		}
	}
}

func TestReachedRequiresBothHeaders(t *testing.T) {
	for _, test := range []struct {
		name, pool, hash string
		reached          int
	}{
		{"both", pool, hash, 1},
		{"none", "", "", 0},
		{"another hash", pool, "ffffffff", 0},
		{"another pool", "clusters/other", hash, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, payload)
			got, err := s.get(t, "/ignition", map[string]string{
				"Authorization": s.bearer(), "NodePool": test.pool, "TargetConfigVersionHash": test.hash,
			})
			if err != nil || got.status != http.StatusOK {
				t.Fatalf("got %+v, %v", got, err)
			}
			if got := len(s.State().Reached); got != test.reached {
				t.Errorf("%d reached records, want %d", got, test.reached)
			}
		})
	}
}
