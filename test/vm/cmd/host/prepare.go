// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
)

// proxyPort is the port on the host at which the proxy is available during the preparation.
const proxyPort = 18080

// prepare runs a script on the host. The network of the control plane leads nowhere, so the host reaches the internet
// by a proxy in this process, over the ssh connection. The proxy listens on a Unix socket, because the client of ssh is
// in the network namespace.
func prepare(ctx context.Context, machine *vm.Machine, path, temporary string) error {
	script, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the preparation: %w", err)
	}
	defer script.Close()
	socket := filepath.Join(temporary, "proxy")
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("starting a proxy: %w", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(forward)} //nolint:gosec // its only client is the host
	defer server.Close()
	go func() { _ = server.Serve(listener) }()
	if err := machine.Forward(ctx, proxyPort, socket); err != nil {
		return err
	}
	defer machine.Disconnect() // the acceptance test must not find the proxy
	proxy := fmt.Sprintf("http://localhost:%d", proxyPort)
	// From a file, because a command of the script could read standard input.
	code, err := machine.RunStream(ctx, fmt.Sprintf(`export http_proxy=%s https_proxy=%s
		file=$(mktemp) && cat >"$file" && sh -e "$file" </dev/null; code=$?; rm -f "$file"; exit $code`, proxy, proxy),
		script, os.Stdout, os.Stderr)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d", code)
	}
	if err != nil {
		return fmt.Errorf("preparing the host with %s: %w", path, err)
	}
	return nil
}

// forward handles one request of a proxy's client.
func forward(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}}).ServeHTTP(w, r)
		return
	}
	server, err := new(net.Dialer).DialContext(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n") // the copies below fail, too
	go func() {
		_, _ = io.Copy(server, buffered)
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(client, server)
}
