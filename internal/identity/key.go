// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/keyutil"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// pendingKey is the key of a CSR that may still be waiting for approval. The
// file in the agent's own directory lets a later run find the same CSR. The
// file is removed when the certificate is stored or the CSR cannot lead to a
// certificate.
type pendingKey struct {
	path      string
	private   *ecdsa.PrivateKey
	pem       []byte    // without headers
	createdAt time.Time // when the key was created, the start of the wait for approval
	// randomName is the name of the CSR for the key of an expired certificate, which other hosts may
	// know. It is "" for a new key, whose CSR has the name that kubelet gives it.
	randomName string
}

const pendingKeyName = "kubelet-client.key"

// randomNameHeader is the PEM header of the file that contains randomName.
const randomNameHeader = "CSR-Name"

// loadOrCreateKey reads the pending key in dir. If there is none, it uses the key of the
// expired certificate, or creates one. A file without a key is replaced, because
// nothing can depend on it.
func loadOrCreateKey(dir string, expired *expiredPair) (*pendingKey, error) {
	key, err := loadKey(dir)
	if err != nil || key.private != nil {
		return key, err
	}
	if expired != nil {
		key.private, key.randomName = expired.key, enrollment.RandomCSRName()
	} else if key.private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("creating a key: %w", err)
	}
	if key.pem, err = keyutil.MarshalPrivateKeyToPEM(key.private); err != nil {
		return nil, fmt.Errorf("encoding the key: %w", err)
	}
	return key, key.save()
}

// csrName returns the name of the CSR with this key.
func (p *pendingKey) csrName(nodeName string) (string, error) {
	if p.randomName != "" {
		return p.randomName, nil
	}
	return enrollment.ClientCSRName(&p.private.PublicKey, nodeName)
}

// loadKey reads the pending key in dir. private is nil if there is none. It refuses a key that another version
// of the agent wrote, because a CSR that waits for approval can depend on it.
func loadKey(dir string) (*pendingKey, error) {
	key := &pendingKey{path: filepath.Join(dir, pendingKeyName), createdAt: time.Now()}
	content, err := os.ReadFile(key.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the pending key: %w", err)
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(content)
	if err != nil {
		return key, nil //nolint:nilerr // the file contains no key
	}
	block, _ := pem.Decode(content)
	for header := range block.Headers {
		if header != randomNameHeader {
			return nil, report.RefuseFormat("reading the pending key: this version of the agent does not know the "+
				"header %q of %s", header, key.path)
		}
	}
	var isECDSA bool
	if key.private, isECDSA = parsed.(*ecdsa.PrivateKey); !isECDSA {
		return nil, report.RefuseFormat("reading the pending key: %s contains a key of type %T", key.path, parsed)
	}
	key.randomName = block.Headers[randomNameHeader]
	key.pem = pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})
	if info, err := os.Stat(key.path); err == nil {
		key.createdAt = info.ModTime()
	}
	return key, nil
}

// save writes the key to disk before a CSR uses it.
func (p *pendingKey) save() error {
	content := p.pem
	if p.randomName != "" {
		block, _ := pem.Decode(p.pem)
		block.Headers = map[string]string{randomNameHeader: p.randomName}
		content = pem.EncodeToMemory(block)
	}
	if err := hostfs.WritePrivate(filepath.Dir(p.path), filepath.Base(p.path), content); err != nil {
		return fmt.Errorf("saving the pending key: %w", err)
	}
	return nil
}

// remove removes the key file durably.
func (p *pendingKey) remove() error {
	if err := hostfs.RemoveSynced(p.path); err != nil {
		return fmt.Errorf("removing the pending key: %w", err)
	}
	return nil
}

// fingerprint returns the fingerprint of a public key, in the form for
// comparison by people.
func fingerprint(publicKey any) string {
	return cmp.Or(enrollment.Fingerprint(publicKey), "SHA256:unknown")
}

// expiredPair is an expired client certificate of this node with its key. A CSR with the same key
// and the certificate proves to the controller that this host is the one that has joined. The join
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
