// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"
)

// Encode returns the YAML document of the token, including its secrets.
func (t *Token) Encode() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(t.key)
	if err != nil {
		return nil, fmt.Errorf("encoding the join token's key: %w", err)
	}
	body, err := yaml.Marshal(document{
		APIVersion: APIVersion, Kind: KindToken, ID: t.ID, NodeName: t.NodeName, Expires: formatTime(t.Expires), ClusterCA: t.ClusterCA,
		Labels: t.Labels, Taints: t.Taints, UserData: string(t.UserData), PrivateKey: encodePEM(privateKeyType, der),
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the join token: %w", err)
	}
	head := "# Secret: any host with this file can join as node " + t.NodeName + ".\n# Usage on the host: hcp-node-agent join --join-token FILE\n"
	return append([]byte(head), body...), nil
}

// Encode returns the YAML document of the enrollment.
func (e *Enrollment) Encode() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(e.key)
	if err != nil {
		return nil, fmt.Errorf("encoding the enrollment's key: %w", err)
	}
	d := document{
		APIVersion: APIVersion, Kind: KindEnrollment, ID: e.ID, NodeName: e.NodeName, Expires: formatTime(e.Expires), ClusterCA: e.ClusterCA,
		PublicKey: encodePEM(publicKeyType, der),
	}
	if len(e.Addresses) > 0 {
		addresses := make([]string, 0, len(e.Addresses))
		for _, address := range e.Addresses {
			addresses = append(addresses, address.String())
		}
		d.Addresses = &addresses
	}
	body, err := yaml.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encoding the enrollment: %w", err)
	}
	head := "# Not a secret. Allows the approver to admit node " + e.NodeName + ": hcp-node-admin approve --enrollments DIR\n"
	return append([]byte(head), body...), nil
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func encodePEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
