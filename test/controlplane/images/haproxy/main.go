// SPDX-License-Identifier: Apache-2.0

// Command haproxy stands in for HAProxy in the static pod that serves the API on every node. It
// forwards TCP from the "bind" address to the address of the "server" line in the same
// haproxy.cfg, and supports no other directive.
//
// Usage: haproxy -f DIRECTORY-OR-FILE
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const connectTimeout = 10 * time.Second // as in haproxy.cfg

func main() {
	if err := run(os.Args[1:]); err != nil {
		log.Fatalln("haproxy stand-in:", err)
	}
}

func run(args []string) error {
	if len(args) != 2 || args[0] != "-f" {
		return errors.New("usage: haproxy -f DIRECTORY-OR-FILE")
	}
	bind, server, err := configuration(args[1])
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", bind)
	if err != nil {
		return err
	}
	log.Printf("forwarding %s to %s", bind, server)
	for {
		near, err := listener.Accept()
		if err != nil {
			return err
		}
		go serveConnection(near, server)
	}
}

// configuration reads the two addresses from haproxy.cfg.
func configuration(path string) (bind, server string, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "haproxy.cfg")
	}
	file, err := os.Open(path)
	if err != nil {
		return "", "", err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		switch words := strings.Fields(lines.Text()); {
		case len(words) == 2 && words[0] == "bind":
			bind = withBrackets(words[1])
		case len(words) >= 3 && words[0] == "server":
			server = withBrackets(words[2])
		}
	}
	if bind == "" || server == "" {
		return "", "", fmt.Errorf("%s has no bind or no server line", path)
	}
	return bind, server, nil
}

// withBrackets returns an address whose port follows its last colon, as HAProxy reads it, with the brackets that Go
// requires around an IPv6 address.
func withBrackets(address string) string {
	at := strings.LastIndexByte(address, ':')
	if at < 0 || strings.HasPrefix(address, "[") {
		return address
	}
	return net.JoinHostPort(address[:at], address[at+1:])
}

func serveConnection(near net.Conn, server string) {
	defer near.Close()
	far, err := net.DialTimeout("tcp", server, connectTimeout)
	if err != nil {
		log.Printf("connecting for %s: %v", near.RemoteAddr(), err)
		return
	}
	defer far.Close()
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
