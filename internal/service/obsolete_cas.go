// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// recordGone records which trusted CAs the cluster publishes, and returns those that it has not published for some
// time.
func (c caCheck) recordGone(
	trusted []*x509.Certificate, difference node.CADifference, now time.Time,
) ([]*x509.Certificate, error) {
	if !difference.IsKnown {
		return nil, nil
	}
	records, _ := joinstate.LoadPublishedCAs(c.stateDir) // if the file is damaged, the time begins again
	next := nextPublished(records, trusted, difference.Obsolete, now)
	if !slices.Equal(records, next) {
		if err := joinstate.SavePublishedCAs(c.stateDir, next); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(difference.Obsolete), func(ca *x509.Certificate) bool {
		at := slices.IndexFunc(next, func(one joinstate.PublishedCA) bool { return one.SHA256 == digestOf(ca) })
		return at < 0 || next[at].Gone.IsZero() || now.Sub(next[at].Gone) < c.removeAfter
	}), nil
}

// nextPublished returns the records of the trusted CAs that the cluster publishes or has published. A CA that was never
// published has none: it can be that of a named certificate of the API server, which HyperShift writes only to the
// payload (combineRootCAWithServingCerts in v2/kas/kubeconfig.go).
func nextPublished(
	records []joinstate.PublishedCA, trusted, obsolete []*x509.Certificate, now time.Time,
) []joinstate.PublishedCA {
	var next []joinstate.PublishedCA
	for _, ca := range trusted {
		digest := digestOf(ca)
		at := slices.IndexFunc(records, func(one joinstate.PublishedCA) bool { return one.SHA256 == digest })
		switch isGone := slices.ContainsFunc(obsolete, ca.Equal); {
		case !isGone:
			next = append(next, joinstate.PublishedCA{SHA256: digest})
		case at < 0:
		case records[at].Gone.IsZero() || records[at].Gone.After(now): // of a wrong clock
			next = append(next, joinstate.PublishedCA{SHA256: digest, Gone: now.UTC().Truncate(time.Second)})
		default:
			next = append(next, records[at])
		}
	}
	return next
}

func digestOf(ca *x509.Certificate) string {
	sum := sha256.Sum256(ca.Raw)
	return hex.EncodeToString(sum[:])
}

// removableCAs returns the CAs among those that are gone that the payload or the agent has added, none if no other CA
// would remain.
func removableCAs(trusted, own, gone []*x509.Certificate) []*x509.Certificate {
	foreign := kube.MissingCertificates(own, gone)
	removable := kube.MissingCertificates(foreign, gone)
	if len(kube.MissingCertificates(removable, trusted)) == 0 {
		return nil
	}
	return removable
}

// remove removes the obsolete CAs from those with which kubelet verifies the API server. It fails if the published CAs
// have changed since the check, or if the API server cannot be verified without the obsolete ones.
func (c caCheck) remove(ctx context.Context, options request.Options) (string, error) {
	_, obsolete, err := c.compare(ctx, time.Now())
	if err != nil {
		return "", err
	}
	if len(obsolete) == 0 {
		return "", report.Fail(report.Failed, joinAgain,
			"the CAs that the cluster publishes have changed since the check; none was removed")
	}
	return "kubelet does not trust the former CAs of the cluster any more: " + describeCAs(obsolete),
		bootstrap.RemoveCAs(ctx, options, kube.EncodeCertificates(obsolete))
}
