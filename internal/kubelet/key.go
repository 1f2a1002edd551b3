package kubelet

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/keyutil"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ticket"
)

// pendingKey is the key whose CSR may still wait for approval. It lives in the
// agent's own directory, so that a later run finds the same CSR again; it goes
// when the certificate is stored, or when its CSR can come to nothing.
type pendingKey struct {
	path    string
	private *ecdsa.PrivateKey
	pem     []byte
	since   time.Time // when it was made: since then its CSR is waited for
}

const pendingKeyName = "kubelet-client.key"

// loadOrMakeKey reads the pending key in dir, or makes one. A file that holds
// no key is replaced: nothing can depend on it.
func loadOrMakeKey(dir string) (*pendingKey, error) {
	key, err := loadKey(dir)
	if err != nil || key.private != nil {
		return key, err
	}
	if key.private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	if key.pem, err = keyutil.MarshalPrivateKeyToPEM(key.private); err != nil {
		return nil, fmt.Errorf("encoding the key: %w", err)
	}
	return key, key.save()
}

// loadKey reads the pending key in dir; one without private has none.
func loadKey(dir string) (*pendingKey, error) {
	key := &pendingKey{path: filepath.Join(dir, pendingKeyName), since: time.Now()}
	content, err := os.ReadFile(key.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the pending key: %w", err)
	}
	if parsed, err := keyutil.ParsePrivateKeyPEM(content); err == nil {
		if private, ok := parsed.(*ecdsa.PrivateKey); ok {
			key.private, key.pem = private, content
			if info, err := os.Stat(key.path); err == nil {
				key.since = info.ModTime()
			}
		}
	}
	return key, nil
}

// save makes the key durable before anything is asked with it.
func (k *pendingKey) save() error {
	if err := host.WritePrivate(filepath.Dir(k.path), filepath.Base(k.path), k.pem); err != nil {
		return fmt.Errorf("saving the pending key: %w", err)
	}
	return nil
}

// drop forgets the key.
func (k *pendingKey) drop() error {
	if err := os.Remove(k.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the pending key: %w", err)
	}
	return syncDirectory(filepath.Dir(k.path))
}

func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("syncing %s: %w", path, err)
	}
	return nil
}

// Fingerprint is a public key as a person compares it.
func Fingerprint(publicKey any) string {
	return cmp.Or(ticket.Fingerprint(publicKey), "SHA256:unknown")
}
