// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// Token is a join token, the part for the host. Its key, its user data and the credential of its cluster are secrets,
// which no formatting verb prints.
type Token struct {
	Terms
	Labels   []string         // key=value, for the Node
	Taints   []string         // key=value:Effect or key:Effect, for the Node
	UserData []byte           // the NodePool's user data; nil if it is passed separately
	Cluster  *Cluster         // where the host gets the user data; nil if it is passed separately
	Networks []ClusterNetwork // of the cluster; nil if they are unknown

	key ed25519.PrivateKey
}

// Enrollment is an enrollment, the part for the cluster. It holds no secret.
type Enrollment struct {
	Terms
	Addresses []netip.Prefix           // allowed in the node's serving certificate; none: manual approval
	NodePool  string                   // "" if unknown
	Labels    []string                 // that the controller sets on the Node, KEY=VALUE
	Taints    []string                 // that the controller sets on the Node, KEY[=VALUE]:EFFECT
	Reinstall v1alpha1.ReinstallPolicy // "" is ReinstallRefuse

	key ed25519.PublicKey
}

// Terms state where and until when a join token can be used. Its enrollment has the same.
type Terms struct {
	ID        string    // 32 hexadecimal digits
	NodeName  string    // of the only node that can use the token
	Expires   time.Time // UTC, whole seconds
	ClusterCA []Hash    // hashes of the CAs that identify the cluster
}

// ErrExpired is wrapped by the errors for expired tokens and enrollments.
var ErrExpired = errors.New("expired")

// CheckExpiry returns an error that wraps ErrExpired if the join token has expired.
func (t Terms) CheckExpiry(now time.Time) error {
	if now.Before(t.Expires) {
		return nil
	}
	// The error does not contain now: the controller reports a reason again whenever its text
	// changes.
	return fmt.Errorf("join token %s of node %s %w at %s", t.ID, t.NodeName, ErrExpired, formatTime(t.Expires))
}

// String describes the token without its secrets.
func (t Token) String() string {
	return fmt.Sprintf("join token %s of node %s, valid until %s", t.ID, t.NodeName, formatTime(t.Expires))
}

// Format prints String for every verb of fmt, to keep the secrets out.
func (t Token) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

// MarshalJSON encodes String, to keep the secrets out. Encode includes them.
func (t Token) MarshalJSON() ([]byte, error) { return []byte(fmt.Sprintf("%q", t.String())), nil }

// Summary describes a token or an enrollment without its secrets.
type Summary struct {
	Kind        Kind      `json:"type" doc:"type of the file"`
	ID          string    `json:"id" doc:"ID of the join token, which its enrollment also has"`
	NodeName    string    `json:"nodeName" doc:"name of the node that can use the join token"`
	Expires     time.Time `json:"expires" doc:"end of the validity"`
	Expired     bool      `json:"expired" doc:"whether the join token has expired"`
	ClusterCA   []Hash    `json:"clusterCA" doc:"fingerprints of the hosted cluster's CAs"`
	Fingerprint string    `json:"fingerprint" doc:"fingerprint of the public key, the same in the enrollment"`
	Addresses   []string  `json:"addresses,omitempty" doc:"addresses and CIDRs allowed in the node's serving certificate"`
	Labels      []string  `json:"labels,omitempty" doc:"labels for the Node as KEY=VALUE"`
	Taints      []string  `json:"taints,omitempty" doc:"taints for the Node as KEY[=VALUE]:EFFECT"`
	HasUserData bool      `json:"hasUserData" doc:"whether the join token contains the user data"`
	Server      string    `json:"server,omitempty" doc:"URL of the hosted cluster from which the host gets the user data"`
	Secret      string    `json:"secret,omitempty" doc:"name of the Secret with the user data"`

	Networks []ClusterNetwork `json:"clusterNetworks,omitempty" doc:"networks of the hosted cluster, with which those of the host must not overlap"`
}

// ParseSummary parses a token or an enrollment and returns its public content.
func ParseSummary(content []byte, now time.Time) (Summary, error) {
	var head struct {
		Kind Kind `json:"kind"`
	}
	if err := yaml.Unmarshal(content, &head); err == nil && head.Kind == KindEnrollment {
		e, err := ParseEnrollment(content)
		if err != nil {
			return Summary{}, err
		}
		return e.Summarize(now), nil
	}
	t, err := ParseToken(content)
	if err != nil {
		return Summary{}, err
	}
	return t.Summarize(now), nil
}

// Summarize returns the public content of the token.
func (t *Token) Summarize(now time.Time) Summary {
	summary := t.summarize(KindToken, t.key.Public(), now)
	summary.Labels, summary.Taints, summary.HasUserData = t.Labels, t.Taints, t.UserData != nil
	summary.Networks = t.Networks
	if t.Cluster != nil {
		summary.Server, summary.Secret = t.Cluster.Server, t.Cluster.Secret
	}
	return summary
}

// Summarize returns the content of the enrollment.
func (e *Enrollment) Summarize(now time.Time) Summary {
	summary := e.summarize(KindEnrollment, e.key, now)
	summary.Addresses, summary.Labels, summary.Taints = FormatAddresses(e.Addresses), e.Labels, e.Taints
	return summary
}

func (t Terms) summarize(kind Kind, key crypto.PublicKey, now time.Time) Summary {
	return Summary{
		Kind:        kind,
		ID:          t.ID,
		NodeName:    t.NodeName,
		Expires:     t.Expires,
		Expired:     !now.Before(t.Expires),
		ClusterCA:   t.ClusterCA,
		Fingerprint: Fingerprint(key),
	}
}
