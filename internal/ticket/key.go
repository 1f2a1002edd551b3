package ticket

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"strings"
)

const (
	privateBlock = "PRIVATE KEY"
	publicBlock  = "PUBLIC KEY"
)

// one returns the content of the only PEM block in text.
func one(text, kind string) ([]byte, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != kind || len(block.Headers) > 0 || strings.TrimSpace(string(rest)) != "" {
		return nil, errNoKey
	}
	return block.Bytes, nil
}

func privateKey(text string) (ed25519.PrivateKey, error) {
	der, err := one(text, privateBlock)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if key, fits := parsed.(ed25519.PrivateKey); err == nil && fits {
		return key, nil
	}
	return nil, errNoKey
}

func publicKey(text string) (ed25519.PublicKey, error) {
	der, err := one(text, publicBlock)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if key, fits := parsed.(ed25519.PublicKey); err == nil && fits {
		return key, nil
	}
	return nil, errNoKey
}
