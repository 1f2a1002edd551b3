// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package csrtest

import (
	"io"
	"net"
	"sync"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// Proxy forwards connections to the API server and can be cut.
type Proxy struct {
	listener    net.Listener
	mu          sync.Mutex
	isCut       bool
	refused     int
	connections []net.Conn
}

// NewProxy starts a proxy, which ends with the test.
func NewProxy(t *testing.T) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: listener}
	t.Cleanup(func() { listener.Close(); p.SetCut(true) })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			p.forward(near)
		}
	}()
	return p
}

// Server returns the URL of the API server through the proxy.
func (p *Proxy) Server() string { return "https://" + p.listener.Addr().String() }

func (p *Proxy) forward(near net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isCut {
		p.refused++
		near.Close()
		return
	}
	far, err := net.Dial("tcp", kubetest.Plane.APIForward)
	if err != nil {
		near.Close()
		return
	}
	p.connections = append(p.connections, near, far)
	for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			near.Close()
			far.Close()
		}()
	}
}

// Refused returns the number of connections that were refused.
func (p *Proxy) Refused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// SetCut closes all connections and refuses further ones, or accepts them again.
func (p *Proxy) SetCut(isCut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = isCut
	if isCut {
		for _, end := range p.connections {
			end.Close()
		}
		p.connections = nil
	}
}

// Kubeconfig returns a kubeconfig with the proxy as its server.
func (p *Proxy) Kubeconfig(t *testing.T, kubeconfig []byte) []byte {
	t.Helper()
	file, err := clientcmd.Load(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range file.Clusters {
		cluster.Server = p.Server()
	}
	content, err := clientcmd.Write(*file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
