// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// dialInside connects from inside the control plane's namespace, as a machine on its bridge does.
func (c *controlPlane) dialInside(network, address string) (conn net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		namespace, openErr := os.Open(c.Netns)
		if openErr != nil {
			err = openErr
			return
		}
		defer namespace.Close()
		if err = unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err == nil {
			conn, err = net.Dial(network, address)
		}
	}()
	<-done
	return conn, err
}

func testNameResolution(t *testing.T, c *controlPlane) {
	resolver := &net.Resolver{PreferGo: true, Dial: func(_ context.Context, network, _ string) (net.Conn, error) {
		return c.dialInside(network, "192.0.2.1:53")
	}}
	for _, server := range []string{
		c.IgnitionEndpoint, c.Registry, "api.demo.example.com:6443", "api-int.demo.example.com:6443",
		"api-int.demo.example.com:22623",
	} {
		host, port, err := net.SplitHostPort(server)
		if err != nil {
			t.Fatal(err)
		}
		addresses, err := resolver.LookupHost(context.Background(), host)
		if err != nil || len(addresses) != 1 || addresses[0] != "192.0.2.1" {
			t.Errorf("%s is %v, %v; want 192.0.2.1", host, addresses, err)
			continue
		}
		conn, err := c.dialInside("tcp4", net.JoinHostPort(addresses[0], port))
		if err != nil {
			t.Errorf("connecting to %s: %v", server, err)
			continue
		}
		conn.Close()
	}
}

func testUserDataFetchesPayload(t *testing.T, c *controlPlane) {
	var userData struct {
		Ignition struct {
			Config struct {
				Merge []struct {
					HTTPHeaders []struct{ Name, Value string }
					Source      string
				}
			}
		}
	}
	content, err := os.ReadFile(c.UserData)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &userData); err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(c.IgnitionCA)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodGet, userData.Ignition.Config.Merge[0].Source, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range userData.Ignition.Config.Merge[0].HTTPHeaders {
		request.Header.Set(header.Name, header.Value)
	}
	status, got := doAsMachine(t, request, ca, c.IgnitionForward)
	want, err := os.ReadFile(c.Payload)
	if err != nil {
		t.Fatal(err)
	}
	if status != http.StatusOK || string(got) != string(want) {
		t.Errorf("got %d and %d bytes, want the payload's %d", status, len(got), len(want))
	}
}

// doAsMachine sends a request to a server of the test environment, as a machine does that trusts
// only ca.
func doAsMachine(t *testing.T, request *http.Request, ca []byte, forward string) (status int, body []byte) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{
		Dial:            func(string, string) (net.Conn, error) { return net.Dial("tcp4", forward) },
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}
