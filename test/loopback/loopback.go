// SPDX-License-Identifier: Apache-2.0

// Package loopback finds addresses on loopback for tests.
package loopback

import (
	"net"
	"testing"
)

// FreeAddress returns an address without a listener, as HOST:PORT.
func FreeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
