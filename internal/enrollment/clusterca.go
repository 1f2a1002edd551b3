// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Hash is the SHA-256 digest of public data: "SHA256:" and 64 hexadecimal digits.
type Hash string

const hashPrefix = "SHA256:"

func hashOf(content []byte) Hash {
	sum := sha256.Sum256(content)
	return Hash(hashPrefix + hex.EncodeToString(sum[:]))
}

// decode returns the 32 bytes of a hash.
func (h Hash) decode() ([]byte, error) {
	digits, found := strings.CutPrefix(string(h), hashPrefix)
	sum, err := hex.DecodeString(digits)
	if !found || err != nil || len(sum) != sha256.Size || digits != strings.ToLower(digits) {
		return nil, fmt.Errorf("%q is not %s followed by 64 hexadecimal digits", shorten(string(h)), hashPrefix)
	}
	return sum, nil
}

// maxCAs is the maximum number of certificates in a cluster's CA bundle. A bundle has
// one or two, and a few more during a rotation.
const maxCAs = 16

// CAHashes returns the hashes of the certificates in a PEM bundle, in order and without
// duplicates. Any one of them identifies the cluster, because the content of the bundle changes
// while CAs are rotated.
func CAHashes(bundle []byte) ([]Hash, error) {
	var all []Hash
	for rest := bundle; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, fmt.Errorf("reading the cluster's CA: %w", err)
		}
		if hash := hashOf(block.Bytes); !slices.Contains(all, hash) {
			all = append(all, hash)
		}
	}
	switch {
	case len(all) == 0:
		return nil, errors.New("reading the cluster's CA: no certificate in PEM format found")
	case len(all) > maxCAs:
		return nil, fmt.Errorf("reading the cluster's CA: %d certificates; at most %d are allowed",
			len(all), maxCAs)
	}
	return all, nil
}

// intersection returns the elements of a that are also in b.
func intersection(a, b []Hash) []Hash {
	return slices.DeleteFunc(slices.Clone(a), func(hash Hash) bool { return !slices.Contains(b, hash) })
}

// CheckCluster returns an error unless the join token is for the cluster with these CAs.
func (t Terms) CheckCluster(cluster []Hash) error {
	if len(intersection(t.ClusterCA, cluster)) > 0 {
		return nil
	}
	return fmt.Errorf("join token %s is for another cluster: expected CA %s, but this cluster has %s",
		t.ID, joinHashes(t.ClusterCA), joinHashes(cluster))
}

func joinHashes(hashes []Hash) string {
	all := make([]string, 0, len(hashes))
	for _, hash := range hashes {
		all = append(all, string(hash))
	}
	return strings.Join(all, " or ")
}

// Fingerprint returns a public key in the form that administrators compare: "SHA256:" and the
// hexadecimal digest of the key's PKIX form. The digest is the same as that of "openssl req
// -pubkey -noout | openssl pkey -pubin -outform DER | sha256sum". Fingerprint returns "" if key
// is not a public key.
func Fingerprint(key crypto.PublicKey) string {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return ""
	}
	return string(hashOf(der))
}

// SamePublicKey reports whether two public keys are equal.
func SamePublicKey(a, b crypto.PublicKey) bool {
	key, isComparable := a.(interface {
		Equal(other crypto.PublicKey) bool
	})
	return isComparable && key.Equal(b)
}

func shorten(text string) string { return report.Shorten(text, 80) }
