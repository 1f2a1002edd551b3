package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// Innermost drops what net/http and net put around the cause; the outer layers
// repeat the URL, with what is secret in it.
func Innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// Dialled is the operation of net that failed to reach a proxy or a server,
// with the address that was dialled where it is known.
func Dialled(err error) (proxy bool, address string) {
	var operation *net.OpError
	if !errors.As(err, &operation) {
		return false, ""
	}
	if operation.Op == "dial" && operation.Addr != nil {
		address = operation.Addr.String()
	}
	return operation.Op == "proxyconnect", address
}

// NoRoute tells that this host has no way to the server's network.
func NoRoute(err error) bool {
	return errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

// Received tells how much of an answer came before it ended; want is 0 or less
// where the server has not said how much there is.
func Received(got int, want int64) string {
	if want > 0 {
		return fmt.Sprintf("%d of %d bytes", got, want)
	}
	return fmt.Sprintf("%d bytes", got)
}

// Connection tells in which way a connection to HOST:PORT did not come about,
// or broke. All of these ways can pass.
func Connection(to string, err error) string {
	var operation *net.OpError
	dialling := errors.As(err, &operation) && operation.Op == "dial"
	if _, address := Dialled(err); address != "" {
		to = fmt.Sprintf("%s (%s)", to, address)
	}
	var slow net.Error
	late := errors.As(err, &slow) && slow.Timeout()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("%s refuses the connection: nothing listens there, or a firewall rejects it", to)
	case NoRoute(err):
		return fmt.Sprintf("there is no route to %s", to)
	case dialling && late:
		return fmt.Sprintf("%s does not answer the connection: a firewall drops it, or the address is wrong", to)
	case late, errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("%s took the connection and did not answer in time", to)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("%s closed the connection without an answer", to)
	}
	return fmt.Sprintf("asking %s failed: %s", to, Innermost(err))
}
