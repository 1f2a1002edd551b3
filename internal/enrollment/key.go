// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"strings"
)

const (
	privateKeyType = "PRIVATE KEY"
	publicKeyType  = "PUBLIC KEY"
)

// decodePEM returns the content of the only PEM block in text.
func decodePEM(text, kind string) ([]byte, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != kind || len(block.Headers) > 0 || strings.TrimSpace(string(rest)) != "" {
		return nil, errInvalidKey
	}
	return block.Bytes, nil
}

func parsePrivateKey(text string) (ed25519.PrivateKey, error) {
	der, err := decodePEM(text, privateKeyType)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if key, fits := parsed.(ed25519.PrivateKey); err == nil && fits {
		return key, nil
	}
	return nil, errInvalidKey
}

func parsePublicKey(text string) (ed25519.PublicKey, error) {
	der, err := decodePEM(text, publicKeyType)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if key, fits := parsed.(ed25519.PublicKey); err == nil && fits {
		return key, nil
	}
	return nil, errInvalidKey
}
