package approver

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
)

const nodePrefix = "system:node:"

// Fingerprint is a public key as join shows it and as a person compares it:
// SHA256: and the digest of its PKIX form in hexadecimal.
func Fingerprint(publicKey any) string {
	der, err := x509.MarshalPKIXPublicKey(publicKey)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(der)
	return "SHA256:" + hex.EncodeToString(sum[:])
}
