// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"crypto"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"fmt"
)

// ClientCSRName returns the name that kubelet gives the client CSR of a node with this public key
// (digestedName in k8s.io/kubernetes/pkg/kubelet/certificate/bootstrap). The name is derived from
// the key, the subject and the usages, so a cluster has at most one CSR of that name.
func ClientCSRName(publicKey crypto.PublicKey, nodeName string) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(publicKey)
	if err != nil {
		return "", fmt.Errorf("encoding public key: %w", err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	hash := sha512.New512_256()
	for _, part := range []string{string(der), "system:node:" + nodeName, "system:nodes", "digital signature", "client auth"} {
		hash.Write([]byte(encode([]byte(part)) + "|"))
	}
	return "node-csr-" + encode(hash.Sum(nil)), nil
}
