package enrollment

import (
	"crypto"
	"net/netip"
	"time"

	"sigs.k8s.io/yaml"
)

// Summary describes a token or an enrollment without its secrets.
type Summary struct {
	Kind        string       `json:"shows"` // KindToken or KindEnrollment
	ID          string       `json:"id"`
	NodeName    string       `json:"nodeName"`
	Expires     time.Time    `json:"expires"`
	Expired     bool         `json:"expired"`
	ClusterCA   []Hash       `json:"clusterCA"`
	Fingerprint string       `json:"fingerprint"` // of the public key; equal for a token and its enrollment
	Addresses   []netip.Addr `json:"addresses,omitempty"`
	Labels      []string     `json:"labels,omitempty"`
	Taints      []string     `json:"taints,omitempty"`
	HasUserData bool         `json:"hasStub"`
}

// ParseSummary parses a token or an enrollment and returns its public content.
func ParseSummary(content []byte, now time.Time) (Summary, error) {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := yaml.Unmarshal(content, &head); err == nil && head.Kind == KindEnrollment {
		c, err := ParseEnrollment(content)
		if err != nil {
			return Summary{}, err
		}
		p := newSummary(KindEnrollment, c.ID, c.NodeName, c.Expires, now, c.ClusterCA, c.key)
		p.Addresses = c.Addresses
		return p, nil
	}
	t, err := ParseToken(content)
	if err != nil {
		return Summary{}, err
	}
	return t.Summarize(now), nil
}

// Summarize returns the public content of the token.
func (t *Token) Summarize(now time.Time) Summary {
	p := newSummary(KindToken, t.ID, t.NodeName, t.Expires, now, t.ClusterCA, t.key.Public())
	p.Labels, p.Taints, p.HasUserData = t.Labels, t.Taints, t.UserData != nil
	return p
}

func newSummary(kind, id, node string, expires, now time.Time, cas []Hash, key crypto.PublicKey) Summary {
	return Summary{
		Kind: kind, ID: id, NodeName: node, Expires: expires, Expired: !now.Before(expires), ClusterCA: cas, Fingerprint: Fingerprint(key),
	}
}
