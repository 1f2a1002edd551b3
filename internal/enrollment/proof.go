// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Annotations of a CSR that identify and prove the join token.
const (
	AnnotationID        = "hcp-node-agent.io/join-token-id"
	annotationSignature = "hcp-node-agent.io/join-token-proof"
)

// signatureDomain separates this signature from signatures for other purposes. A change of the signed data
// needs another version.
const signatureDomain = "hcp-node-agent join token proof v1"

// signedMessage returns the data to sign. Each part is preceded by its length, so that different lists
// of parts never have the same encoding.
func signedMessage(authority Hash, id, nodeName string, publicKey crypto.PublicKey) ([]byte, error) {
	ca, err := authority.decode()
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(publicKey)
	if err != nil {
		return nil, fmt.Errorf("encoding public key: %w", err)
	}
	key := sha256.Sum256(der)
	var out []byte
	for _, part := range [][]byte{[]byte(signatureDomain), ca, []byte(id), []byte(nodeName), key[:]} {
		out = binary.BigEndian.AppendUint32(out, uint32(len(part))) //nolint:gosec // a name or a hash, never 4 GiB
		out = append(out, part...)
	}
	return out, nil
}

// Sign returns the annotations for the CSR with this public key, in the cluster with these CAs.
// The same key always has the same annotations.
func (t *Token) Sign(cluster []Hash, publicKey crypto.PublicKey) (map[string]string, error) {
	if err := t.CheckCluster(cluster); err != nil {
		return nil, err
	}
	signed, err := signedMessage(intersection(t.ClusterCA, cluster)[0], t.ID, t.NodeName, publicKey)
	if err != nil {
		return nil, fmt.Errorf("signing the CSR with the join token: %w", err)
	}
	signature := ed25519.Sign(t.key, signed)
	return map[string]string{
		AnnotationID: t.ID, annotationSignature: encodeSignature(signature),
	}, nil
}

// Verify returns an error unless a CSR's annotations were signed with the enrollment's join
// token, for this public key, the enrollment's node and the cluster with these CAs. It does not
// check the expiry.
func (e *Enrollment) Verify(cluster []Hash, publicKey crypto.PublicKey, annotations map[string]string) error {
	if err := e.CheckCluster(cluster); err != nil {
		return err
	}
	if id := annotations[AnnotationID]; id != e.ID {
		return fmt.Errorf("the CSR has join token ID %q, but the enrollment has %s", shorten(id), e.ID)
	}
	signature, err := decodeSignature(annotations[annotationSignature], ed25519.SignatureSize)
	if err != nil {
		return err
	}
	// The annotations do not contain which of the common CAs the node has signed.
	for _, authority := range intersection(e.ClusterCA, cluster) {
		signed, err := signedMessage(authority, e.ID, e.NodeName, publicKey)
		if err != nil {
			return fmt.Errorf("verifying the signature of the CSR: %w", err)
		}
		if ed25519.Verify(e.key, signed, signature) {
			return nil
		}
	}
	return fmt.Errorf("the signature of the CSR does not match join token %s, node %s, this key and this cluster",
		e.ID, e.NodeName)
}

// signatureVersion begins the annotations with signatures.
const signatureVersion = "v1:"

func encodeSignature(signature []byte) string {
	return signatureVersion + base64.StdEncoding.EncodeToString(signature)
}

// decodeSignature returns the signature in an annotation of a CSR, with at most maxBytes bytes.
func decodeSignature(text string, maxBytes int) ([]byte, error) {
	encoded, isKnown := strings.CutPrefix(text, signatureVersion)
	switch {
	case text == "":
		return nil, errors.New("the CSR contains no signature")
	case !isKnown:
		return nil, report.RefuseFormat("the signature of the CSR is not of version v1")
	case len(encoded) > base64.StdEncoding.EncodedLen(maxBytes):
		return nil, errors.New("the signature of the CSR is malformed: it is too long")
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return nil, errors.New("the signature of the CSR is malformed")
	}
	return signature, nil
}
