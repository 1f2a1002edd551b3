// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Encode returns the YAML document of the token, including its secrets.
func (t *Token) Encode() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(t.key)
	if err != nil {
		return nil, fmt.Errorf("encoding the join token's key: %w", err)
	}
	body, err := yaml.Marshal(document{
		TypeMeta:   report.Meta(string(KindToken)),
		ID:         t.ID,
		NodeName:   t.NodeName,
		Expires:    formatTime(t.Expires),
		ClusterCA:  t.ClusterCA,
		Labels:     t.Labels,
		Taints:     t.Taints,
		UserData:   string(t.UserData),
		PrivateKey: encodePEM(privateKeyType, der),
		Cluster:    t.Cluster,
		Networks:   t.Networks,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the join token: %w", err)
	}
	return append([]byte("# Secret: any host with this file can join as node "+t.NodeName+".\n"+
		"# Usage on the host: hcp-node-agent join --join-token FILE\n"), body...), nil
}

// Encode returns the manifest of the NodeEnrollment.
func (e *Enrollment) Encode() ([]byte, error) {
	object, err := e.Object()
	if err != nil {
		return nil, err
	}
	body, err := yaml.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding the NodeEnrollment: %w", err)
	}
	return append([]byte("# Not a secret. Admits the host with the join token as node "+e.NodeName+": oc apply -f FILE\n"),
		body...), nil
}

// encodeBoth encodes a token, which is a secret, and its enrollment.
func encodeBoth(t *Token, e *Enrollment) (secret, public []byte, err error) {
	if secret, err = t.Encode(); err != nil {
		return nil, nil, err
	}
	public, err = e.Encode()
	return secret, public, err
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func encodePEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// Paths returns the paths of the token and of the enrollment of a node below dir. The directories differ, because the
// tokens are secrets and the enrollments are public.
func Paths(dir, node string) (token, enrollment string) {
	return HostPath(dir, node, TokenSuffix), filepath.Join(dir, "enrollments", node+EnrollmentSuffix)
}

// HostPath returns the path of a file for the host of a node below dir: its token, or a file that contains the token.
func HostPath(dir, node, suffix string) string { return filepath.Join(dir, "tokens", node+suffix) }

// A File is a file to create.
type File struct {
	Path     string
	Content  []byte
	IsSecret bool // only the owner can read the file and its directory
}

// TokenFile returns the file of a token below dir.
func TokenFile(dir string, t *Token) (File, error) {
	content, err := t.Encode()
	path, _ := Paths(dir, t.NodeName)
	return File{Path: path, Content: content, IsSecret: true}, err
}

// ManifestFile returns the file of an enrollment below dir.
func ManifestFile(dir string, e *Enrollment) (File, error) {
	content, err := e.Encode()
	_, path := Paths(dir, e.NodeName)
	return File{Path: path, Content: content}, err
}

// Create creates files and their directories. It fails if one of the files exists: the file can be the only copy of a
// token that a host waits with. After an error none of the files exists that Create created.
func Create(files ...File) error {
	for i, file := range files {
		if err := file.create(); err != nil {
			// An enrollment alone admits no node, but would make the next attempt fail.
			for _, created := range files[:i] {
				err = errors.Join(err, os.Remove(created.Path))
			}
			return err
		}
	}
	return nil
}

func (f File) create() (err error) {
	mode, dirMode := os.FileMode(0o644), os.FileMode(0o750)
	if f.IsSecret {
		mode, dirMode = 0o600, 0o700
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), dirMode); err != nil {
		return fmt.Errorf("creating the directory: %w", err)
	}
	file, err := os.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("creating the file: %w", err)
	}
	_, err = file.Write(f.Content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", f.Path, errors.Join(err, os.Remove(f.Path)))
	}
	return nil
}
