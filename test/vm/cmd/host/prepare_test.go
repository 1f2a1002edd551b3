// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// The host downloads over HTTP and HTTPS through the proxy.
func TestForward(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(forward))
	defer proxy.Close()
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) })
	for name, server := range map[string]*httptest.Server{
		"HTTP": httptest.NewServer(hello), "HTTPS": httptest.NewTLSServer(hello),
	} {
		client := server.Client()
		used := false
		client.Transport.(*http.Transport).Proxy = func(*http.Request) (*url.URL, error) {
			used = true
			return address, nil
		}
		response, err := client.Get(server.URL + "/package.rpm")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || string(body) != "/package.rpm" || !used {
			t.Errorf("%s: %q, %v, through the proxy: %t", name, body, err, used)
		}
		client.CloseIdleConnections()
		server.Close()
	}
}
