// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"sigs.k8s.io/yaml"
)

// Maximum sizes of the documents in bytes. A token has about four hundred bytes, and several
// thousand with user data.
const (
	maxTokenBytes      = 256 << 10
	maxEnrollmentBytes = 16 << 10
)

// document is the YAML form of either kind.
type document struct {
	APIVersion string    `json:"apiVersion"`
	Kind       Kind      `json:"kind"`
	ID         string    `json:"id"`
	NodeName   string    `json:"nodeName"`
	Expires    string    `json:"expires"`
	ClusterCA  []Hash    `json:"clusterCA"`
	Addresses  *[]string `json:"addresses,omitempty"`  // of an enrollment
	PublicKey  string    `json:"publicKey,omitempty"`  // of an enrollment, PEM
	Labels     []string  `json:"labels,omitempty"`     // of a token
	Taints     []string  `json:"taints,omitempty"`     // of a token
	UserData   string    `json:"userData,omitempty"`   // of a token
	PrivateKey string    `json:"privateKey,omitempty"` // of a token, PEM
}

// ParseToken parses and validates a token. It does not check the expiry.
func ParseToken(content []byte) (*Token, error) {
	d, expires, err := parse(content, KindToken, maxTokenBytes)
	if err != nil {
		return nil, err
	}
	if d.PublicKey != "" || d.Addresses != nil {
		return nil, errors.New("reading the join token: publicKey and addresses are fields of an enrollment")
	}
	t := &Token{ID: d.ID, NodeName: d.NodeName, Expires: expires, ClusterCA: d.ClusterCA, Labels: d.Labels, Taints: d.Taints}
	if d.UserData != "" {
		t.UserData = []byte(d.UserData)
	}
	if t.key, err = parsePrivateKey(d.PrivateKey); err != nil {
		return nil, fmt.Errorf("reading the join token: privateKey: %w", err)
	}
	if err := errors.Join(checkList("labels", d.Labels, checkLabel), checkList("taints", d.Taints, checkTaint)); err != nil {
		return nil, fmt.Errorf("reading the join token: %w", err)
	}
	return t, nil
}

// ParseEnrollment parses and validates an enrollment. It does not check the expiry.
func ParseEnrollment(content []byte) (*Enrollment, error) {
	d, expires, err := parse(content, KindEnrollment, maxEnrollmentBytes)
	if err != nil {
		return nil, err
	}
	if d.PrivateKey != "" || d.UserData != "" || d.Labels != nil || d.Taints != nil {
		return nil, errors.New("reading the enrollment: privateKey, userData, labels and taints are fields of a join token; an enrollment must not contain secrets")
	}
	c := &Enrollment{ID: d.ID, NodeName: d.NodeName, Expires: expires, ClusterCA: d.ClusterCA}
	if c.key, err = parsePublicKey(d.PublicKey); err != nil {
		return nil, fmt.Errorf("reading the enrollment: publicKey: %w", err)
	}
	if d.Addresses == nil {
		return c, nil
	}
	if err := checkList("addresses", *d.Addresses, func(text string) error {
		address, err := netip.ParseAddr(text)
		if err == nil {
			err = CheckAddress(address)
		}
		c.Addresses = append(c.Addresses, address)
		return err
	}); err != nil {
		return nil, fmt.Errorf("reading the enrollment: %w", err)
	}
	return c, nil
}

// parse parses and checks the fields that both kinds have.
func parse(content []byte, kind Kind, limit int) (document, time.Time, error) {
	d, err := decodeDocument(content, kind, limit)
	if err != nil {
		return d, time.Time{}, err
	}
	if err := checkID(d.ID); err != nil {
		return d, time.Time{}, fmt.Errorf("reading the %s: id: %w", kindNoun(kind), err)
	}
	if err := CheckNodeName(d.NodeName); err != nil {
		return d, time.Time{}, fmt.Errorf("reading the %s: nodeName: %w", kindNoun(kind), err)
	}
	expires, err := time.Parse(time.RFC3339, d.Expires)
	if err != nil || expires.Nanosecond() != 0 {
		return d, time.Time{}, fmt.Errorf("reading the %s: expires: %q is not a time such as 2026-01-31T12:00:00Z", kindNoun(kind), shorten(d.Expires))
	}
	if len(d.ClusterCA) == 0 || len(d.ClusterCA) > maxCAs {
		return d, time.Time{}, fmt.Errorf("reading the %s: clusterCA has %d hashes; 1 to %d are allowed", kindNoun(kind), len(d.ClusterCA), maxCAs)
	}
	for _, hash := range d.ClusterCA {
		if _, err := hash.decode(); err != nil {
			return d, time.Time{}, fmt.Errorf("reading the %s: clusterCA: %w", kindNoun(kind), err)
		}
	}
	return d, expires.UTC(), nil
}

func decodeDocument(content []byte, kind Kind, limit int) (document, error) {
	var d document
	if len(content) > limit {
		return d, fmt.Errorf("reading the %s: the file is larger than %d KiB", kindNoun(kind), limit>>10)
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return d, fmt.Errorf("reading the %s: the file is empty", kindNoun(kind))
	}
	if hasMultipleDocuments(content) {
		return d, fmt.Errorf("reading the %s: the file contains more than one YAML document", kindNoun(kind))
	}
	// The parser's error is not returned, because it can quote the key.
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       Kind   `json:"kind"`
	}
	if err := yaml.Unmarshal(content, &head); err != nil {
		return d, fmt.Errorf("reading the %s: the file is not valid YAML, or a value has the wrong type", kindNoun(kind))
	}
	if head.APIVersion != APIVersion || head.Kind != kind {
		return d, fmt.Errorf("reading the %s: apiVersion %q and kind %q are not supported; expected %q and %q",
			kindNoun(kind), shorten(head.APIVersion), shorten(string(head.Kind)), APIVersion, kind)
	}
	if err := yaml.UnmarshalStrict(content, &d); err != nil {
		return d, fmt.Errorf("reading the %s: a field is unknown, duplicated or of the wrong type; valid fields: %s", kindNoun(kind), fieldNames(kind))
	}
	return d, nil
}

// hasMultipleDocuments reports whether content has more than one YAML document. The parser would silently
// ignore all but the first.
func hasMultipleDocuments(content []byte) bool {
	begun := false
	for line := range bytes.Lines(content) {
		line = bytes.TrimRight(line, " \t\r\n")
		mark := bytes.Equal(line, []byte("---")) || bytes.HasPrefix(line, []byte("--- ")) || bytes.Equal(line, []byte("..."))
		switch {
		case mark && begun:
			return true
		case mark, len(line) > 0 && line[0] != '#' && line[0] != '%':
			begun = true
		}
	}
	return false
}

func fieldNames(kind Kind) string {
	if kind == KindToken {
		return "apiVersion, kind, id, nodeName, expires, clusterCA, labels, taints, userData and privateKey"
	}
	return "apiVersion, kind, id, nodeName, expires, clusterCA, addresses and publicKey"
}

func kindNoun(kind Kind) string {
	if kind == KindToken {
		return "join token"
	}
	return "enrollment"
}
