package forward_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/forward"
)

// echo is a far side that answers with what it got when the sender has ended.
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

func TestCarriesBothWaysAndPassesTheEndOn(t *testing.T) {
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

func TestFarSideAwayHangsUp(t *testing.T) {
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

func TestCloseCutsWhatIsOpen(t *testing.T) {
	far := echo(t)
	f := loopback(t, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp4", far.Addr().String())
	})
	conn, err := net.Dial("tcp4", f.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := f.Close(); err != nil { // waits for every connection's end
		t.Error(err)
	}
	_, _ = io.ReadAll(conn) // returns, with an end or a reset: both are cuts
	if _, err := net.Dial("tcp4", f.Address()); err == nil {
		t.Error("it still listens")
	}
}
