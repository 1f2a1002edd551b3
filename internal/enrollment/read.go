// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Maximum sizes of the documents in bytes. A token has about four hundred bytes, and several
// thousand with user data or a cluster.
const (
	maxTokenBytes      = 256 << 10
	maxEnrollmentBytes = 16 << 10
)

// document is the YAML form of a token.
type document struct {
	report.TypeMeta
	ID         string   `json:"id"`
	NodeName   string   `json:"nodeName"`
	Expires    string   `json:"expires"`
	ClusterCA  []Hash   `json:"clusterCA"`
	Labels     []string `json:"labels,omitempty"`
	Taints     []string `json:"taints,omitempty"`
	UserData   string   `json:"userData,omitempty"`
	PrivateKey string   `json:"privateKey,omitempty"` // PEM
	Cluster    *Cluster `json:"cluster,omitempty"`
	// Networks are those of the cluster. They are not part of the signature: with others, the host only makes other
	// checks.
	Networks []ClusterNetwork `json:"clusterNetworks,omitempty"`
}

// ParseToken parses and validates a token. It does not check the expiry.
func ParseToken(content []byte) (*Token, error) {
	t, err := parseToken(content)
	if err != nil {
		return nil, fmt.Errorf("reading the join token: %w", err)
	}
	return t, nil
}

func parseToken(content []byte) (*Token, error) {
	d, err := decodeToken(content)
	if err != nil {
		return nil, err
	}
	terms, err := d.terms()
	if err != nil {
		return nil, err
	}
	t := &Token{Terms: terms, Labels: d.Labels, Taints: d.Taints, Networks: d.Networks}
	if d.UserData != "" {
		t.UserData = []byte(d.UserData)
	}
	if t.Cluster, err = d.cluster(); err != nil {
		return nil, err
	}
	if t.key, err = parsePrivateKey(d.PrivateKey); err != nil {
		return nil, fmt.Errorf("privateKey: %w", err)
	}
	return t, errors.Join(checkList("labels", d.Labels, checkLabel), checkList("taints", d.Taints, checkTaint),
		checkNetworks(d.Networks))
}

// ParseEnrollment parses and validates the manifest of a NodeEnrollment. It does not check the expiry.
func ParseEnrollment(content []byte) (*Enrollment, error) {
	object, err := decodeObject(content)
	if err == nil {
		var e *Enrollment
		if e, err = FromObject(object); err == nil {
			return e, nil
		}
	}
	return nil, fmt.Errorf("reading the enrollment: %w", err)
}

func (d document) terms() (t Terms, err error) {
	if err := checkID(d.ID); err != nil {
		return t, fmt.Errorf("id: %w", err)
	}
	if err := CheckNodeName(d.NodeName); err != nil {
		return t, fmt.Errorf("nodeName: %w", err)
	}
	expires, err := time.Parse(time.RFC3339, d.Expires)
	if err != nil || expires.Nanosecond() != 0 {
		return t, fmt.Errorf("expires: %q is not a time such as 2026-01-31T12:00:00Z", shorten(d.Expires))
	}
	if len(d.ClusterCA) == 0 || len(d.ClusterCA) > maxCAs {
		return t, fmt.Errorf("clusterCA has %d hashes; 1 to %d are allowed", len(d.ClusterCA), maxCAs)
	}
	for _, hash := range d.ClusterCA {
		if _, err := hash.decode(); err != nil {
			return t, fmt.Errorf("clusterCA: %w", err)
		}
	}
	return Terms{ID: d.ID, NodeName: d.NodeName, Expires: expires.UTC(), ClusterCA: d.ClusterCA}, nil
}

// decodeToken decodes a token. The errors of the parsers are not returned, because they can quote the key.
func decodeToken(content []byte) (document, error) {
	var d document
	encoded, meta, err := decodeYAML(content, maxTokenBytes)
	if err != nil {
		return d, err
	}
	if err := checkKind(meta, KindToken, report.APIVersion); err != nil {
		return d, err
	}
	err = report.Decode(string(KindToken), encoded, &d)
	if err != nil && report.CodeOf(err) != report.Refused {
		return d, errors.New("a value has the wrong type")
	}
	return d, err
}

// decodeYAML returns a YAML document in JSON, with its kind and version.
func decodeYAML(content []byte, limit int) (encoded []byte, meta report.TypeMeta, err error) {
	switch {
	case len(content) > limit:
		return nil, meta, fmt.Errorf("the file is larger than %d KiB", limit>>10)
	case len(bytes.TrimSpace(content)) == 0:
		return nil, meta, errors.New("the file is empty")
	case hasMultipleDocuments(content):
		return nil, meta, errors.New("the file contains more than one YAML document")
	}
	if encoded, err = yaml.YAMLToJSONStrict(content); err != nil {
		return nil, meta, errors.New("the file is not valid YAML, or contains a field twice")
	}
	if err = json.Unmarshal(encoded, &meta); err != nil {
		return nil, meta, errors.New("the file is not a YAML document with kind and apiVersion")
	}
	return encoded, meta, nil
}

// checkKind returns an error unless meta is that of a file of a kind, in any version of the group of apiVersion.
func checkKind(meta report.TypeMeta, kind Kind, apiVersion string) error {
	switch {
	case meta == report.TypeMeta{}:
		return fmt.Errorf("the file is not of kind %s: it has neither kind nor apiVersion", kind)
	case meta.Kind == string(kind) && path.Dir(meta.APIVersion) == path.Dir(apiVersion):
		return nil
	case meta.Kind == string(KindEnrollment) && kind == KindToken:
		return errors.New("the file is a NodeEnrollment, which is for the cluster; the node requires its join token, " +
			"NAME.token")
	case meta.Kind == string(KindToken) && kind == KindEnrollment:
		return errors.New("the file is a join token, which is for the node; the cluster requires its enrollment, " +
			"enrollments/NAME.yaml")
	}
	return fmt.Errorf("the file is of kind %q in version %q, not of kind %s in version %s",
		shorten(meta.Kind), shorten(meta.APIVersion), kind, apiVersion)
}

// hasMultipleDocuments reports whether content has more than one YAML document. The parser would silently
// ignore all but the first.
func hasMultipleDocuments(content []byte) bool {
	begun := false
	for line := range bytes.Lines(content) {
		line = bytes.TrimRight(line, " \t\r\n")
		isMarker := bytes.Equal(line, []byte("---")) || bytes.HasPrefix(line, []byte("--- ")) ||
			bytes.Equal(line, []byte("..."))
		switch {
		case isMarker && begun:
			return true
		case isMarker, len(line) > 0 && line[0] != '#' && line[0] != '%':
			begun = true
		}
	}
	return false
}

const (
	privateKeyType = "PRIVATE KEY"
	publicKeyType  = "PUBLIC KEY"
)

func parsePrivateKey(text string) (ed25519.PrivateKey, error) {
	return parseKey[ed25519.PrivateKey](text, privateKeyType, x509.ParsePKCS8PrivateKey)
}

func parsePublicKey(text string) (ed25519.PublicKey, error) {
	return parseKey[ed25519.PublicKey](text, publicKeyType, x509.ParsePKIXPublicKey)
}

// parseKey returns the key of type K in the only PEM block of text.
func parseKey[K any](text, kind string, parse func([]byte) (any, error)) (key K, err error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != kind || len(block.Headers) > 0 || strings.TrimSpace(string(rest)) != "" {
		return key, errInvalidKey
	}
	parsed, err := parse(block.Bytes)
	key, fits := parsed.(K)
	if err != nil || !fits {
		return key, errInvalidKey
	}
	return key, nil
}
