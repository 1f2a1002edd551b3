// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/netns"
)

// Ports on which the peer listens.
const (
	TCPPort = 9000
	TLSPort = 9443 // with an untrusted certificate
)

// listen starts the peer's servers. The sockets are closed when this process ends.
func (l *Lab) listen() error {
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	return netns.Do(l.peer.path, func() error {
		plain, err := net.Listen("tcp", fmt.Sprintf(":%d", TCPPort))
		if err != nil {
			return err
		}
		go accept(plain)
		secure, err := tls.Listen("tcp", fmt.Sprintf(":%d", TLSPort), config)
		if err != nil {
			return err
		}
		go accept(secure)
		return nil
	})
}

// accept sends a greeting on each connection and closes it.
func accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			_, _ = conn.Write([]byte("hello\n")) // the client may have disconnected
		}()
	}
}

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"peer." + Domain},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
	}
	content, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{content}, PrivateKey: key}, err
}
