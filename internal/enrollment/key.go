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

func parsePrivateKey(text string) (ed25519.PrivateKey, error) {
	return parseKey[ed25519.PrivateKey](text, privateKeyType, x509.ParsePKCS8PrivateKey)
}

func parsePublicKey(text string) (ed25519.PublicKey, error) {
	return parseKey[ed25519.PublicKey](text, publicKeyType, x509.ParsePKIXPublicKey)
}

// parseKey returns the key of type K in the only PEM block of text.
func parseKey[K any](text, kind string, parse func([]byte) (any, error)) (key K, err error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != kind || len(block.Headers) > 0 || strings.TrimSpace(string(rest)) != "" {
		return key, errInvalidKey
	}
	parsed, err := parse(block.Bytes)
	key, fits := parsed.(K)
	if err != nil || !fits {
		return key, errInvalidKey
	}
	return key, nil
}
