// SPDX-License-Identifier: Apache-2.0

// Package forward forwards TCP connections from the host's loopback interface into the network
// namespace of the test environment.
package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Dialer opens the connection to the destination.
type Dialer func(context.Context) (net.Conn, error)

// Forwarder is one listening address on 127.0.0.1.
type Forwarder struct {
	listener net.Listener
	dial     Dialer
	pending  sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// Loopback listens on a free port of 127.0.0.1 and forwards every connection to a connection of
// dial, until Close.
func Loopback(dial Dialer) (*Forwarder, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening on loopback: %w", err)
	}
	f := &Forwarder{listener: listener, dial: dial, conns: map[net.Conn]struct{}{}}
	f.pending.Add(1)
	go f.accept()
	return f, nil
}

// Address returns the forwarder's own host:port.
func (f *Forwarder) Address() string { return f.listener.Addr().String() }

// Close stops listening, closes every connection and waits until they have ended.
func (f *Forwarder) Close() error {
	err := f.listener.Close()
	f.mu.Lock()
	f.closed = true
	for conn := range f.conns {
		conn.Close()
	}
	f.mu.Unlock()
	f.pending.Wait()
	return err
}

func (f *Forwarder) accept() {
	defer f.pending.Done()
	for {
		near, err := f.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of file descriptors: wait until connections have closed
			continue
		}
		f.pending.Add(1)
		go f.serve(near)
	}
}

func (f *Forwarder) serve(near net.Conn) {
	defer f.pending.Done()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	far, err := f.dial(ctx)
	cancel()
	if err != nil {
		near.Close()
		return
	}
	if !f.track(near, far) {
		return
	}
	defer f.untrack(near, far)
	var copies sync.WaitGroup
	copies.Go(func() { copyHalf(far, near) })
	copies.Go(func() { copyHalf(near, far) })
	copies.Wait()
}

// copyHalf copies one direction and forwards EOF.
func copyHalf(to, from net.Conn) {
	_, _ = io.Copy(to, from) // a closed connection is the normal end
	if tcp, ok := to.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}

func (f *Forwarder) track(conns ...net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range conns {
		if f.closed {
			conn.Close()
		} else {
			f.conns[conn] = struct{}{}
		}
	}
	return !f.closed
}

func (f *Forwarder) untrack(conns ...net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range conns {
		delete(f.conns, conn)
		conn.Close()
	}
}
