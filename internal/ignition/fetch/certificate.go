package fetch

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"
)

// CertificateNames returns the names and addresses that a certificate is valid for.
func CertificateNames(shown *x509.Certificate) string {
	all := append([]string{}, shown.DNSNames...)
	for _, address := range shown.IPAddresses {
		all = append(all, address.String())
	}
	if len(all) == 0 {
		return "no name at all"
	}
	return strings.Join(all, ", ")
}

// validityProblem describes a certificate that has expired or is not valid yet. The Date header of an
// untrusted server is not trusted either, so the two clocks cannot be compared.
func validityProblem(shown *x509.Certificate, now time.Time) string {
	if now.Before(shown.NotBefore) {
		return fmt.Sprintf("the certificate of %q is valid only from %s, and this host's clock says %s: the clock is probably behind",
			shown.Subject, formatTime(shown.NotBefore), formatTime(now))
	}
	return fmt.Sprintf("the certificate of %q has expired on %s (this host's clock says %s)", shown.Subject, formatTime(shown.NotAfter), formatTime(now))
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// CheckCA returns an error unless text is a PEM bundle whose first certificate can be parsed.
// Text between and after the certificates, and blocks of other types, are ignored, as by
// x509.CertPool.
func CheckCA(text []byte) error {
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return errors.New("it holds no PEM certificate")
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("its certificate cannot be read: %w", err)
		}
		return nil
	}
}
