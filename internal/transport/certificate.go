// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// classifyTLS sets the reason if the TLS handshake failed or the server is not trusted. It reports
// false for other errors.
func (e *Error) classifyTLS(serverName string, err error) bool {
	var record tls.RecordHeaderError
	var alert *net.OpError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var unverified *tls.CertificateVerificationError
	remedy := report.Remedyf("openssl s_client -connect %s -servername %s -showcerts </dev/null", e.Address, serverName)
	switch {
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		e.Kind, e.Message = NoTLS, e.Address+" does not use TLS"
	case errors.As(err, &alert) && alert.Op == "remote error": // an alert of the server, in crypto/tls
		e.Kind, e.Message = Handshake, fmt.Sprintf("%s refused the TLS handshake: %s", e.Address, alert.Err)
	case errors.As(err, &authority) && authority.Cert != nil:
		e.Kind, e.Certificate = UnknownAuthority, authority.Cert
		e.Message = fmt.Sprintf("the certificate of %s is signed by %q, which is not a trusted CA", e.Address,
			authority.Cert.Issuer)
	case errors.As(err, &name) && name.Certificate != nil:
		e.Kind, e.Certificate = WrongName, name.Certificate
		names := strings.Join(CertificateNames(name.Certificate), ", ")
		if names == "" {
			names = "no names"
		}
		e.Message = fmt.Sprintf("the certificate of %s is valid for %s, not for %s", e.Address, names, name.Host)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		e.Kind, e.Certificate = OutsideValidity, invalid.Cert
		now := time.Now()
		e.Message = DescribeValidity(e.Address, invalid.Cert, now) + "; this host's clock: " + report.Timestamp(now)
		remedy = "timedatectl; chronyc tracking # if the clock is wrong: chronyc makestep"
	case errors.As(err, &unverified):
		e.Kind, e.Message = Unverified, fmt.Sprintf("the certificate of %s cannot be verified: %s", e.Address, unverified.Err)
	default:
		return false
	}
	e.Remedy, e.Code, e.Temporary = remedy, report.Refused, false
	return true
}

// CertificateNames returns the DNS names and IP addresses of a certificate.
func CertificateNames(certificate *x509.Certificate) []string {
	names := append([]string{}, certificate.DNSNames...)
	for _, ip := range certificate.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// DescribeValidity returns a clause that states whether a certificate of a server has expired at a
// time, or is not valid yet.
func DescribeValidity(server string, certificate *x509.Certificate, at time.Time) string {
	state := "expired at " + report.Timestamp(certificate.NotAfter)
	if at.Before(certificate.NotBefore) {
		state = "is not valid before " + report.Timestamp(certificate.NotBefore)
	}
	return fmt.Sprintf("the certificate %q of %s %s", certificate.Subject, server, state)
}

// ClockRemedy is the command that prints and sets the clock.
const ClockRemedy = "timedatectl; chronyc makestep"

// minReportedSkew is the smallest clock difference that is reported. The Date header of a server
// has whole seconds, and the response takes some time.
const minReportedSkew = time.Minute

// SkewNote returns a clause about the clock difference, or "" for a small one. skew is the server's
// clock minus this host's.
func SkewNote(skew time.Duration) string {
	direction := "behind"
	if skew < 0 {
		direction = "ahead of"
	}
	if skew.Abs() < minReportedSkew {
		return ""
	}
	return fmt.Sprintf("; this host's clock is %s %s the server's", skew.Abs().Round(time.Second), direction)
}
