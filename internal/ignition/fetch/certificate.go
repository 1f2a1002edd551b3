// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// CheckCA returns an error unless text is a PEM bundle whose first certificate can be parsed.
// Text between and after the certificates, and blocks of other types, are ignored, as by
// x509.CertPool.
func CheckCA(text []byte) error {
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return errors.New("no PEM certificate found")
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("parsing the certificate: %w", err)
		}
		return nil
	}
}
