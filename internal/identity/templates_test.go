// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"crypto/x509"
	"net"
)

func nodeCertificate(name string) *x509.Certificate {
	return &x509.Certificate{Subject: nodeSubject(name), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

func servingCertificate(name string, addresses ...string) *x509.Certificate {
	template := &x509.Certificate{Subject: nodeSubject(name), DNSNames: []string{name}}
	for _, address := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(address))
	}
	return template
}
