// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"crypto/x509"
	"testing"
)

// encodeOld returns an enrollment in the format of KindEnrollment, which earlier versions wrote.
func encodeOld(t testing.TB, e *Enrollment) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(e.key)
	if err != nil {
		t.Fatal(err)
	}
	d := e.document(KindEnrollment)
	d.PublicKey = encodePEM(publicKeyType, der)
	if len(e.Addresses) > 0 {
		addresses := FormatAddresses(e.Addresses)
		d.Addresses = &addresses
	}
	content, err := encode(d, "# Not a secret.\n")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
