package wire

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"
)

// Names lists what a certificate is for.
func Names(shown *x509.Certificate) string {
	all := append([]string{}, shown.DNSNames...)
	for _, address := range shown.IPAddresses {
		all = append(all, address.String())
	}
	if len(all) == 0 {
		return "no name at all"
	}
	return strings.Join(all, ", ")
}

// OutOfTime tells a certificate out of its time. Nothing the server says can be
// trusted then, its Date neither, so the two clocks cannot be told apart.
func OutOfTime(shown *x509.Certificate, now time.Time) (what, remedy string) {
	remedy = "# check this host's clock: timedatectl; chronyc tracking"
	if now.Before(shown.NotBefore) {
		return fmt.Sprintf("the certificate of %q is valid only from %s, and this host's clock says %s: the clock is probably behind",
			shown.Subject, stamp(shown.NotBefore), stamp(now)), remedy
	}
	return fmt.Sprintf("the certificate of %q has expired on %s (this host's clock says %s)", shown.Subject, stamp(shown.NotAfter), stamp(now)), remedy
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// CheckCA tells whether text is a bundle that begins with a certificate that
// can be read, in PEM. What stands between and after the certificates does not
// matter, nor do blocks of other kinds: x509.CertPool passes over them too.
func CheckCA(text []byte) error {
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return fmt.Errorf("it holds no PEM certificate")
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
