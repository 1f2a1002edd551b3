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
	Fingerprint string       `json:"fingerprint" doc:"fingerprint of the public key, the same in the enrollment"`
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
		e, err := ParseEnrollment(content)
		if err != nil {
			return Summary{}, err
		}
		summary := e.summarize(KindEnrollment, e.key, now)
		summary.Addresses = e.Addresses
		return summary, nil
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
