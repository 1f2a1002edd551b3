// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"cmp"
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
	d := t.document(KindToken)
	d.Labels, d.Taints, d.UserData, d.Cluster = t.Labels, t.Taints, string(t.UserData), t.Cluster
	d.PrivateKey = encodePEM(privateKeyType, der)
	return encode(d, "# Secret: any host with this file can join as node "+t.NodeName+".\n"+
		"# Usage on the host: hcp-node-agent join --join-token FILE\n")
}

// Encode returns the YAML document of the enrollment.
func (e *Enrollment) Encode() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(e.key)
	if err != nil {
		return nil, fmt.Errorf("encoding the enrollment's key: %w", err)
	}
	d := e.document(KindEnrollment)
	d.PublicKey = encodePEM(publicKeyType, der)
	if len(e.Addresses) > 0 {
		addresses := FormatAddresses(e.Addresses)
		d.Addresses = &addresses
	}
	return encode(d, "# Not a secret. Allows the approver to admit node "+e.NodeName+
		": hcp-node-admin approve --enrollments DIR\n")
}

// encodeBoth encodes a token, which is a secret, and its enrollment.
func encodeBoth(t *Token, e *Enrollment) (secret, public []byte, err error) {
	if secret, err = t.Encode(); err != nil {
		return nil, nil, err
	}
	public, err = e.Encode()
	return secret, public, err
}

func encode(d document, comment string) ([]byte, error) {
	body, err := yaml.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encoding the %s: %w", d.Kind, err)
	}
	return append([]byte(comment), body...), nil
}

func (t Terms) document(kind Kind) document {
	return document{
		TypeMeta:  report.Meta(string(kind)),
		ID:        t.ID,
		NodeName:  t.NodeName,
		Expires:   formatTime(t.Expires),
		ClusterCA: t.ClusterCA,
	}
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func encodePEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// Paths returns the paths of the token and of the enrollment of a node below dir. The directories differ, because the
// tokens are secrets and the enrollments are for the approver.
func Paths(dir, node string) (token, enrollment string) {
	return filepath.Join(dir, "tokens", node+TokenSuffix), filepath.Join(dir, "enrollments", node+EnrollmentSuffix)
}

// UserDataPath returns the path of the user data with which a node enrolls at its first boot. It is beside the token,
// which it contains.
func UserDataPath(dir, node string) string { return filepath.Join(dir, "tokens", node+UserDataSuffix) }

// Write creates the files of a token and its enrollment below dir and returns their paths. Only the owner can read
// the token file and its directory. userData is the content of the file at UserDataPath, which contains the token; nil
// for none. Write fails if one of the files exists: the file can be the only copy of a token that a host waits with.
// After an error none of the files exists that Write created.
func Write(dir string, t *Token, e *Enrollment, userData []byte) (tokenPath, enrollmentPath string, err error) {
	secret, public, err := encodeBoth(t, e)
	if err != nil {
		return "", "", err
	}
	tokenPath, enrollmentPath = Paths(dir, t.NodeName)
	err = cmp.Or(os.MkdirAll(filepath.Dir(enrollmentPath), 0o750), os.MkdirAll(filepath.Dir(tokenPath), 0o700))
	if err != nil {
		return "", "", fmt.Errorf("creating the directories: %w", err)
	}
	files := []newFile{
		{path: enrollmentPath, content: public, mode: 0o644},
		{path: tokenPath, content: secret, mode: 0o600},
	}
	if userData != nil {
		files = append(files, newFile{path: UserDataPath(dir, t.NodeName), content: userData, mode: 0o600})
	}
	for i, file := range files {
		if err := createFile(file); err != nil {
			// An enrollment alone admits no node, but would make the next attempt fail.
			for _, created := range files[:i] {
				err = errors.Join(err, os.Remove(created.path))
			}
			return "", "", err
		}
	}
	return tokenPath, enrollmentPath, nil
}

type newFile struct {
	path    string
	content []byte
	mode    os.FileMode
}

func createFile(f newFile) (err error) {
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.mode)
	if err != nil {
		return fmt.Errorf("creating the file: %w", err)
	}
	_, err = file.Write(f.content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", f.path, errors.Join(err, os.Remove(f.path)))
	}
	return nil
}
