package ticket

import (
	"crypto"
	"net/netip"
	"time"

	"sigs.k8s.io/yaml"
)

// Public describes a token or an enrollment without its secrets.
type Public struct {
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
	HasStub     bool         `json:"hasStub"`
}

// Show parses a token or an enrollment and returns its public content.
func Show(content []byte, now time.Time) (Public, error) {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := yaml.Unmarshal(content, &head); err == nil && head.Kind == KindClaim {
		c, err := ParseClaim(content)
		if err != nil {
			return Public{}, err
		}
		p := public(KindClaim, c.ID, c.NodeName, c.Expires, now, c.ClusterCA, c.key)
		p.Addresses = c.Addresses
		return p, nil
	}
	t, err := ParseTicket(content)
	if err != nil {
		return Public{}, err
	}
	return t.Public(now), nil
}

// Public returns the public content of the token.
func (t *Ticket) Public(now time.Time) Public {
	p := public(KindTicket, t.ID, t.NodeName, t.Expires, now, t.ClusterCA, t.key.Public())
	p.Labels, p.Taints, p.HasStub = t.Labels, t.Taints, t.Stub != nil
	return p
}

func public(kind, id, node string, expires, now time.Time, authorities []Hash, key crypto.PublicKey) Public {
	return Public{
		Kind: kind, ID: id, NodeName: node, Expires: expires, Expired: !now.Before(expires), ClusterCA: authorities, Fingerprint: Fingerprint(key),
	}
}
