// Package forward carries TCP connections from the host's loopback into the
// bed's network namespace.
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

// Dialer opens the far side of one connection.
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

// Loopback listens on a free port of 127.0.0.1 and forwards every connection
// to what dial opens, until Close.
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

// Address is the forwarder's own host:port.
func (f *Forwarder) Address() string { return f.listener.Addr().String() }

// Close stops listening, cuts every connection and waits for their ends.
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
			time.Sleep(10 * time.Millisecond) // out of descriptors: let some close
			continue
		}
		f.pending.Add(1)
		go f.carry(near)
	}
}

func (f *Forwarder) carry(near net.Conn) {
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
	copies.Go(func() { half(far, near) })
	copies.Go(func() { half(near, far) })
	copies.Wait()
}

// half copies one direction and passes the end of the stream on.
func half(to, from net.Conn) {
	_, _ = io.Copy(to, from) // either side hanging up is the normal end
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
