// SPDX-License-Identifier: Apache-2.0

package forward_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/forward"
)

// echo returns a listener that sends back its input after EOF.
func echo(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				got, _ := io.ReadAll(conn)
				_, _ = conn.Write(got)
			}()
		}
	}()
	return listener
}

func loopback(t *testing.T, dial forward.Dialer) *forward.Forwarder {
	t.Helper()
	f, err := forward.Loopback(dial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestForwardsBothDirectionsAndEOF(t *testing.T) {
	far := echo(t)
	f := loopback(t, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp4", far.Addr().String())
	})
	conn, err := net.Dial("tcp4", f.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); string(got) != "hello" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestClosesConnectionWhenDialFails(t *testing.T) {
	f := loopback(t, func(context.Context) (net.Conn, error) { return nil, errors.New("refused") })
	conn, err := net.Dial("tcp4", f.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, err := io.ReadAll(conn); len(got) != 0 || err != nil {
		t.Errorf("got %q, %v; want an end at once", got, err)
	}
}

func TestCloseClosesOpenConnections(t *testing.T) {
	far := echo(t)
	f := loopback(t, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp4", far.Addr().String())
	})
	conn, err := net.Dial("tcp4", f.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := f.Close(); err != nil { // waits until every connection has ended
		t.Error(err)
	}
	_, _ = io.ReadAll(conn) // returns with EOF or a reset; both mean that the connection was closed
	if _, err := net.Dial("tcp4", f.Address()); err == nil {
		t.Error("it still listens")
	}
}
