package main

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"
)

// wire forwards connections to the API server and counts the received bytes, including TLS.
type wire struct {
	listener net.Listener
	target   string
	received atomic.Int64
}

func newWire(target string) (*wire, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for one client: %w", err)
	}
	w := &wire{listener: listener, target: target}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return // the listener is closed
			}
			go w.join(near)
		}
	}()
	return w, nil
}

func (w *wire) server() string { return "https://" + w.listener.Addr().String() }

func (w *wire) join(near net.Conn) {
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
	_, _ = io.Copy(near, io.TeeReader(far, counter{&w.received}))
}

type counter struct{ sum *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.sum.Add(int64(len(p)))
	return len(p), nil
}
