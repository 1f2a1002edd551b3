// SPDX-License-Identifier: Apache-2.0

// Package proxy runs a forward proxy in the machines' network.
package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm/internal/child"
)

// Proxy is a tinyproxy that connects its clients to port 443.
type Proxy struct {
	URL string // for the machines

	log    string
	server *child.Child
}

// Start starts a proxy at an address in a network namespace, given by path, for clients in the
// address's network. It resolves the names that a DNS server at the same address has. dir is for
// the proxy's files. The proxy ends with this process at the latest.
func Start(ctx context.Context, namespace string, address netip.Prefix, dir string) (*Proxy, error) {
	const port = "3128"
	p := &Proxy{URL: "http://" + net.JoinHostPort(address.Addr().String(), port), log: filepath.Join(dir, "proxy.log")}
	config, resolver := filepath.Join(dir, "proxy.conf"), filepath.Join(dir, "resolv.conf")
	for name, content := range map[string]string{
		config: fmt.Sprintf("Port %s\nListen %s\nAllow %s\nConnectPort 443\nLogFile %q\nLogLevel Info\n",
			port, address.Addr(), address.Masked(), p.log),
		resolver: fmt.Sprintf("nameserver %s\n", address.Addr()),
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			return nil, fmt.Errorf("preparing a proxy: %w", err)
		}
	}
	var err error
	p.server, err = child.Start(exec.CommandContext(context.WithoutCancel(ctx), "nsenter", "--net="+namespace, "unshare",
		"--mount",
		"sh", "-c", `mount --bind "$1" /etc/resolv.conf && exec tinyproxy -d -c "$2"`, "sh", resolver, config))
	if err != nil {
		return nil, err
	}
	if err := p.await(ctx); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

func (p *Proxy) await(ctx context.Context) error {
	for {
		log, _ := os.ReadFile(p.log) // the file does not exist immediately
		if strings.Contains(string(log), "Accepting connections") {
			return nil
		}
		select {
		case <-p.server.Done():
			return fmt.Errorf("the proxy ended (%w): %s", p.server.Err(), log)
		case <-ctx.Done():
			return fmt.Errorf("waiting for the proxy (%s): %w", log, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Log returns the proxy's log, which contains the requested destinations.
func (p *Proxy) Log() (string, error) {
	log, err := os.ReadFile(p.log)
	if err != nil {
		return "", fmt.Errorf("reading the proxy's log: %w", err)
	}
	return string(log), nil
}

// Stop stops the proxy.
func (p *Proxy) Stop() { p.server.Kill() }

// UserData returns user data that uses the proxy, as that of a hosted cluster with a proxy
// configuration does.
func (p *Proxy) UserData(userData []byte) ([]byte, error) {
	var document map[string]map[string]any
	if err := json.Unmarshal(userData, &document); err != nil {
		return nil, fmt.Errorf("reading user data: %w", err)
	}
	document["ignition"]["proxy"] = map[string]any{"httpsProxy": p.URL}
	changed, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("writing user data: %w", err)
	}
	return changed, nil
}
