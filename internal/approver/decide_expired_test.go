// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
)

// The CSR is that of a host whose client certificate expired while it was off.
func TestDecideExpiredCertificate(t *testing.T) {
	now := time.Now()
	clusterCA, signer := certtest.NewCA(t, "ca").PEM, certtest.NewCA(t, "signer")
	cluster, err := enrollment.CAHashes(clusterCA)
	if err != nil {
		t.Fatal(err)
	}
	key := certtest.NewKey(t)
	expiry := now.Add(-24 * time.Hour)
	issued := expiry.Add(-30 * 24 * time.Hour)
	certificate := x509.Certificate{
		Subject: nodeSubject("worker-1"), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore: issued, NotAfter: expiry,
	}
	with := func(change func(*x509.Certificate)) map[string]string {
		changed := certificate
		change(&changed)
		return csrtest.AnnotateCertificate(t, signer, key, changed)
	}
	good := csrtest.AnnotateCertificate(t, signer, key, certificate)
	token := issue(t, "worker-1", clusterCA, now)
	both := maps.Clone(good)
	maps.Copy(both, token.sign(t, cluster, key))
	cas := x509.NewCertPool()
	cas.AddCert(certtest.NewCA(t, "another client CA").Certificate)
	cas.AddCert(signer.Certificate)
	// The Node is older than the certificate, which is one of many renewals.
	created := issued.Add(-1000 * 24 * time.Hour)
	off := &NodeState{Exists: true, Created: created, LastReport: expiry}
	gathered := func(change func(*Facts)) Facts {
		// The key of the first certificate was replaced by renewals.
		facts := Facts{
			Now:       now,
			CAHashes:  cluster,
			UsedKeys:  map[string]string{token.ID: "SHA256:00"},
			ClientCAs: cas,
			Node:      off,
		}
		if change != nil {
			change(&facts)
		}
		return facts
	}
	node := func(state *NodeState) Facts { return gathered(func(f *Facts) { f.Node = state }) }
	all := []*enrollment.Enrollment{token.enrollment}
	named, err := enrollment.SignCSRName("node-csr-random", key)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(named, good)
	namedWithToken := maps.Clone(named)
	maps.Copy(namedWithToken, token.sign(t, cluster, key))
	for name, test := range map[string]struct {
		annotations map[string]string
		enrollments []*enrollment.Enrollment
		facts       Facts
		change      func(*validCSR)
		name        string // of the CSR; "" for kubelet's own
		want        Outcome
		reason      string
	}{
		"expired while off": {
			good, all, gathered(nil), nil, "", Approved,
			"it has the key of the node's previous client certificate, which was valid until ",
		},
		"used by another machine since": {
			good, all, gathered(func(f *Facts) { f.UsedAt = map[string]time.Time{token.ID: issued.Add(10 * 24 * time.Hour)} }),
			nil, "", Refused, "before the present machine of node worker-1 used its join token",
		},
		"used with the first certificate": {
			good, all, gathered(func(f *Facts) { f.UsedAt = map[string]time.Time{token.ID: issued.Add(5 * time.Minute)} }),
			nil, "", Approved, "previous client certificate",
		},
		"enrollment expired": {
			good, all, gathered(func(f *Facts) { f.Now = now.Add(1000 * time.Hour) }), nil, "", Approved,
			"previous client certificate",
		},
		"state of the Node unknown": {
			good, all, node(nil), nil, "", Ignored, "whether Node worker-1 exists is not known",
		},
		"Node never reported": {
			good, all, node(&NodeState{Exists: true, Created: created}), nil, "", Approved, "previous client certificate",
		},
		"Node clock ahead": {
			good, all, node(&NodeState{Exists: true, Created: created, LastReport: expiry.Add(5 * time.Minute)}), nil, "",
			Approved, "previous client certificate",
		},
		"CAs unknown": {
			good, all, gathered(func(f *Facts) { f.ClientCAs = nil }), nil, "", Ignored, "client CAs are unknown",
		},
		"CAs unreadable": {
			good, all, gathered(func(f *Facts) { f.ClientCAs, f.ClientCAsError = nil, errors.New("forbidden") }), nil, "",
			Ignored, "cannot be verified: forbidden",
		},
		"no enrollment": {good, nil, gathered(nil), nil, "", Ignored, "no enrollment exists for node"},
		"enrollment never used": {
			good, all, gathered(func(f *Facts) { f.UsedKeys = nil }), nil, "", Refused,
			"no join token of worker-1 was used in this cluster",
		},
		"enrollment of another cluster": {
			good, all, gathered(func(f *Facts) { f.CAHashes = nil }), nil, "", Refused,
			"no join token of worker-1 was used in this cluster",
		},
		"Node deleted": {
			good, all, node(&NodeState{}), nil, "", Refused, "Node worker-1 does not exist any more",
		},
		"Node Ready": {
			good, all, node(&NodeState{Exists: true, IsReady: true, Created: created, LastReport: expiry}), nil, "", Refused,
			"Node worker-1 is Ready",
		},
		"Node of the first certificate": {
			good, all, node(&NodeState{Exists: true, Created: issued.Add(time.Hour), LastReport: expiry}), nil, "", Approved,
			"previous client certificate",
		},
		"Node of another machine": {
			good, all, node(&NodeState{Exists: true, Created: issued.Add(25 * time.Hour), LastReport: expiry}), nil, "", Refused,
			"so it is not the Node of the machine with this certificate",
		},
		"Node created after the expiry": {
			with(func(c *x509.Certificate) { c.NotBefore = expiry.Add(-time.Minute) }), all,
			node(&NodeState{Exists: true, Created: expiry.Add(time.Hour)}), nil, "", Refused,
			"so it is not the Node of the machine with this certificate",
		},
		"certificate not expired": {
			with(func(c *x509.Certificate) { c.NotAfter = now.Add(time.Minute) }), all, gathered(nil), nil, "", Refused,
			"expected an expired one",
		},
		"certificate from a backup": {
			good, all, node(&NodeState{Exists: true, Created: created, LastReport: expiry.Add(time.Hour)}), nil, "", Refused,
			"reported to the cluster after this certificate had expired",
		},
		"expired a year ago": {
			good, all, gathered(func(f *Facts) { f.Now = expiry.Add(366 * 24 * time.Hour) }), nil, "", Refused,
			"an expiry less than 365 days ago",
		},
		"certificate of another key": {
			csrtest.AnnotateCertificate(t, signer, certtest.NewKey(t), certificate), all, gathered(nil), nil, "", Refused,
			"invalid certificate: found another key",
		},
		"certificate of another CA": {
			csrtest.AnnotateCertificate(t, certtest.NewCA(t, "signer"), key, certificate), all, gathered(nil), nil, "", Refused,
			"issued by a client CA of this cluster",
		},
		"certificate of another node": {
			with(func(c *x509.Certificate) { c.Subject = nodeSubject("worker-2") }), all, gathered(nil), nil, "", Refused,
			"invalid certificate: found",
		},
		"certificate of an administrator": {
			with(func(c *x509.Certificate) { c.Subject.Organization = []string{"system:nodes", "system:masters"} }), all,
			gathered(nil), nil, "", Refused, "invalid certificate: found",
		},
		"certificate without group": {
			with(func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: "system:node:worker-1"} }), all, gathered(nil),
			nil, "", Refused, "invalid certificate: found",
		},
		"serving certificate": {
			with(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }), all,
			gathered(nil), nil, "", Refused, "expected client auth",
		},
		"certificate for any purpose": {
			with(func(c *x509.Certificate) { c.ExtKeyUsage = nil }), all, gathered(nil), nil, "", Refused,
			"expected client auth",
		},
		"no base64": {
			map[string]string{enrollment.AnnotationCertificate: "-"}, all, gathered(nil), nil, "", Refused, "not valid base64",
		},
		"no certificate": {
			map[string]string{enrollment.AnnotationCertificate: "AAAA"},
			all, gathered(nil), nil, "", Refused,
			"parsing the annotated certificate",
		},
		"oversized certificate": {
			map[string]string{enrollment.AnnotationCertificate: strings.Repeat("A", 1<<16)},
			all, gathered(nil), nil, "",
			Refused, "at most 8192",
		},
		"name signed by the key": {
			named, all, gathered(nil), nil, "node-csr-random", Approved, "previous client certificate",
		},
		"copy of a CSR with a signed name": {named, all, gathered(nil), nil, "node-csr-copied", Refused, "it is a copy"},
		"also a join token, name signed, Node deleted": {namedWithToken, all, gathered(func(f *Facts) {
			f.Node, f.UsedKeys = &NodeState{}, map[string]string{token.ID: enrollment.Fingerprint(&key.PublicKey)}
		}), nil, "node-csr-random", Approved, ""},
		"copied CSR": {good, all, gathered(nil), nil, "aa-001", Refused, "it is a copy"},
		"another requestor": {
			good, all, gathered(nil), func(g *validCSR) { g.spec.Username = "somebody" }, "", Refused, "invalid requestor",
		},
		"another group": {
			good, all, gathered(nil), func(g *validCSR) { g.spec.Groups = append(g.spec.Groups, "system:masters") }, "", Refused,
			"invalid groups",
		},
		"signature by another key": {
			good, all, gathered(nil), func(g *validCSR) { g.pem = replaceSignature }, "", Refused, "invalid signature",
		},
		"also a join token, Node deleted": {both, all, gathered(func(f *Facts) {
			f.Node, f.UsedKeys = &NodeState{}, map[string]string{token.ID: enrollment.Fingerprint(&key.PublicKey)}
		}), nil, "", Approved, ""},
		"also a join token, Node exists": {both, all, gathered(nil), nil, "", Approved, "previous client certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			request := validClientCSR(key)
			if test.change != nil {
				test.change(request)
			}
			csr := request.csr(t)
			csr.Annotations = test.annotations
			if test.name != "" {
				csr.Name = test.name
			}
			d := Decide(csr, byNode(test.enrollments...), test.facts)
			if d.Outcome != test.want || (test.reason == "") != (d.Reason == "") || !strings.Contains(d.Reason, test.reason) {
				t.Errorf("%s: %s, want %s: %s", d.Outcome, d.Reason, test.want, test.reason)
			}
			if (d.Outcome == Approved) != (d.Enrollment != nil) {
				t.Errorf("%s by the enrollment %v", d.Outcome, d.Enrollment)
			}
		})
	}
	// The signer of a renewal is the node itself, and the cluster approves it.
	renewal := validClientCSR(key)
	renewal.spec.Username = "system:node:worker-1"
	csr := renewal.csr(t)
	csr.Annotations = good
	if d := Decide(csr, byNode(all...), gathered(nil)); d.Outcome != Ignored {
		t.Errorf("a renewal: %+v", d)
	}
}
