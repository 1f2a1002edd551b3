package ticket

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
)

// The annotations of a CSR that carry a proof.
const (
	AnnotationID    = "node.hcp-agent.io/ticket"
	AnnotationProof = "node.hcp-agent.io/ticket-proof"
)

const (
	// domain keeps this signature from being one of anything else; a change of
	// what is signed gets another version.
	domain       = "hcp-node-agent ticket proof v1"
	proofVersion = "v1:"
)

// message is what is signed. Every part has its length before it, so that no
// two lists of parts give the same bytes.
func message(authority Hash, id, nodeName string, publicKey crypto.PublicKey) ([]byte, error) {
	ca, err := authority.bytes()
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(publicKey)
	if err != nil {
		return nil, fmt.Errorf("encoding public key: %w", err)
	}
	key := sha256.Sum256(der)
	var out []byte
	for _, part := range [][]byte{[]byte(domain), ca, []byte(id), []byte(nodeName), key[:]} {
		out = binary.BigEndian.AppendUint32(out, uint32(len(part))) //nolint:gosec // a name or a hash, never 4 GiB
		out = append(out, part...)
	}
	return out, nil
}

// Prove gives the annotations for the CSR with this public key, in the cluster
// with these authorities. The same key gives the same annotations.
func (t *Ticket) Prove(cluster []Hash, publicKey crypto.PublicKey) (map[string]string, error) {
	if err := t.Fits(cluster); err != nil {
		return nil, err
	}
	signed, err := message(common(t.ClusterCA, cluster)[0], t.ID, t.NodeName, publicKey)
	if err != nil {
		return nil, fmt.Errorf("proving the ticket: %w", err)
	}
	signature := ed25519.Sign(t.key, signed)
	return map[string]string{
		AnnotationID: t.ID, AnnotationProof: proofVersion + base64.StdEncoding.EncodeToString(signature),
	}, nil
}

// Verify tells whether a CSR's annotations prove that who has the claim's
// ticket asks for this public key, as this node, in the cluster with these
// authorities. It does not look at the time.
func (c *Claim) Verify(cluster []Hash, publicKey crypto.PublicKey, annotations map[string]string) error {
	if err := c.Fits(cluster); err != nil {
		return err
	}
	if id := annotations[AnnotationID]; id != c.ID {
		return fmt.Errorf("it is of the ticket %q, and the claim is of %s", shorten(id), c.ID)
	}
	text, versioned := strings.CutPrefix(annotations[AnnotationProof], proofVersion)
	if !versioned || len(text) > base64.StdEncoding.EncodedLen(ed25519.SignatureSize) {
		return fmt.Errorf("its proof is not one of version %s", strings.TrimSuffix(proofVersion, ":"))
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(signature) != ed25519.SignatureSize {
		return errors.New("its proof is no signature")
	}
	// Which of the authorities both had in common only the node knows.
	for _, authority := range common(c.ClusterCA, cluster) {
		signed, err := message(authority, c.ID, c.NodeName, publicKey)
		if err != nil {
			return fmt.Errorf("verifying the proof: %w", err)
		}
		if ed25519.Verify(c.key, signed, signature) {
			return nil
		}
	}
	return fmt.Errorf("its proof was not made with the ticket %s for this key, the node %s and this cluster", c.ID, c.NodeName)
}
