// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"
)

// countingProxy forwards connections to the API server and counts the received bytes, including TLS.
type countingProxy struct {
	listener net.Listener
	target   string
	received atomic.Int64
}

func newCountingProxy(target string) (*countingProxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for one client: %w", err)
	}
	w := &countingProxy{listener: listener, target: target}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return // the listener is closed
			}
			go w.forward(near)
		}
	}()
	return w, nil
}

func (w *countingProxy) server() string { return "https://" + w.listener.Addr().String() }

func (w *countingProxy) forward(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", w.target)
	if err != nil {
		return // the client sees a closed connection
	}
	defer far.Close()
	go func() {
		_, _ = io.Copy(far, near)
		far.Close()
	}()
	_, _ = io.Copy(near, io.TeeReader(far, countingWriter{&w.received}))
}

type countingWriter struct{ sum *atomic.Int64 }

func (c countingWriter) Write(p []byte) (int, error) {
	c.sum.Add(int64(len(p)))
	return len(p), nil
}
