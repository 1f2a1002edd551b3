// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/tools/metrics"
)

// traffic counts the exchange of clients with the API server. The bytes include TLS.
type traffic struct {
	requests       int64
	received, sent int64
}

func (t traffic) minus(before traffic) traffic {
	return traffic{t.requests - before.requests, t.received - before.received, t.sent - before.sent}
}

func (t traffic) plus(other traffic) traffic {
	return traffic{t.requests + other.requests, t.received + other.received, t.sent + other.sent}
}

// countingProxy forwards the connections of one kind of client to the API server, and counts their bytes.
type countingProxy struct {
	listener       net.Listener
	target         string
	received, sent atomic.Int64
}

func newCountingProxy(target string) (*countingProxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for clients: %w", err)
	}
	p := &countingProxy{listener: listener, target: target}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return // the listener is closed
			}
			go p.forward(near)
		}
	}()
	return p, nil
}

func (p *countingProxy) address() string { return p.listener.Addr().String() }

func (p *countingProxy) server() string { return "https://" + p.address() }

func (p *countingProxy) forward(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", p.target)
	if err != nil {
		return // the client sees a closed connection
	}
	defer far.Close()
	go func() {
		_, _ = io.Copy(far, io.TeeReader(near, countingWriter{&p.sent}))
		far.Close()
	}()
	_, _ = io.Copy(near, io.TeeReader(far, countingWriter{&p.received}))
}

type countingWriter struct{ sum *atomic.Int64 }

func (c countingWriter) Write(p []byte) (int, error) {
	c.sum.Add(int64(len(p)))
	return len(p), nil
}

// traffic returns the bytes, and the requests of this process.
func (p *countingProxy) traffic(requests *requestCounter) traffic {
	return traffic{requests.of(p.address()), p.received.Load(), p.sent.Load()}
}

// requestCounter counts the requests that clients in this process have sent, by the address of their server.
type requestCounter struct {
	mu        sync.Mutex
	byAddress map[string]int64
}

// newRequestCounter counts the requests of all clients that are created afterwards.
func newRequestCounter() *requestCounter {
	c := &requestCounter{byAddress: map[string]int64{}}
	metrics.RequestResult = c
	return c
}

// Increment counts a request.
func (c *requestCounter) Increment(_ context.Context, _, _, address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byAddress[address]++
}

func (c *requestCounter) of(address string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byAddress[address]
}
