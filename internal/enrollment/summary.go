// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"crypto"
	"net/netip"
	"time"

	"sigs.k8s.io/yaml"
)

// Summary describes a token or an enrollment without its secrets.
type Summary struct {
	Kind        Kind         `json:"type" doc:"type of the file"`
	ID          string       `json:"id" doc:"ID of the join token, which its enrollment also has"`
	NodeName    string       `json:"nodeName" doc:"name of the node that can use the join token"`
	Expires     time.Time    `json:"expires" doc:"end of the validity"`
	Expired     bool         `json:"expired" doc:"whether the join token has expired"`
	ClusterCA   []Hash       `json:"clusterCA" doc:"fingerprints of the hosted cluster's CAs"`
	Fingerprint string       `json:"fingerprint" doc:"fingerprint of the public key, which is equal for a join token and its enrollment"`
	Addresses   []netip.Addr `json:"addresses,omitempty" doc:"addresses that the node's serving certificate may contain"`
	Labels      []string     `json:"labels,omitempty" doc:"labels for the Node as KEY=VALUE"`
	Taints      []string     `json:"taints,omitempty" doc:"taints for the Node as KEY[=VALUE]:EFFECT"`
	HasUserData bool         `json:"hasUserData" doc:"whether the join token contains the user data"`
}

// ParseSummary parses a token or an enrollment and returns its public content.
func ParseSummary(content []byte, now time.Time) (Summary, error) {
	var head struct {
		Kind Kind `json:"kind"`
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

func newSummary(kind Kind, id, node string, expires, now time.Time, cas []Hash, key crypto.PublicKey) Summary {
	return Summary{
		Kind: kind, ID: id, NodeName: node, Expires: expires, Expired: !now.Before(expires), ClusterCA: cas, Fingerprint: Fingerprint(key),
	}
}
