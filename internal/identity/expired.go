// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"crypto/ecdsa"
	"crypto/x509"
	"os"
	"time"

	"k8s.io/client-go/util/keyutil"
)

// expiredPair is an expired client certificate of this node with its key. A CSR with the same key
// and the certificate proves to an approver that this host is the one that has joined. The join
// token cannot prove it, because it is removed after the join.
type expiredPair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// readExpiredPair reads kubelet's current client certificate. It returns nil if there is none, if
// it has not expired or is another node's, or if its key is not like those of kubelet.
func (i *Identity) readExpiredPair() *expiredPair {
	content, err := os.ReadFile(i.clientCertificatePath())
	if err != nil {
		return nil
	}
	certificate, err := parseLeaf(content)
	if err != nil || !time.Now().After(certificate.NotAfter) || !isNodeCertificate(certificate, i.NodeName) {
		return nil
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(content)
	if err != nil {
		return nil
	}
	key, isECDSA := parsed.(*ecdsa.PrivateKey)
	if !isECDSA || !key.PublicKey.Equal(certificate.PublicKey) {
		return nil
	}
	return &expiredPair{certificate: certificate, key: key}
}
