// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"crypto/ecdsa"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

type issuedToken struct {
	*enrollment.Token
	enrollment *enrollment.Enrollment
}

// issue returns a join token that is valid for one hour from now.
func issue(t *testing.T, node string, ca []byte, now time.Time, ips ...string) issuedToken {
	t.Helper()
	desired := enrollment.Options{NodeName: node, ClusterCA: ca, Lifetime: time.Hour}
	for _, ip := range ips {
		desired.Addresses = append(desired.Addresses, prefix(t, ip))
	}
	made, record, err := enrollment.New(desired, now)
	if err != nil {
		t.Fatal(err)
	}
	return issuedToken{made, record}
}

// byNode returns enrollments as a decision gets them.
func byNode(list ...*enrollment.Enrollment) Enrollments {
	all := Enrollments{}
	for _, record := range list {
		all[record.NodeName] = record
	}
	return all
}

func (i issuedToken) sign(t *testing.T, cluster []enrollment.Hash, key *ecdsa.PrivateKey) map[string]string {
	t.Helper()
	annotations, err := i.Sign(cluster, &key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return annotations
}

// Only the facts vary; the CSR of either kind is valid. Hostile CSRs are tested against a real
// API server.
func TestDecide(t *testing.T) {
	now := time.Now()
	ca := certtest.NewCA(t, "ca").PEM
	cluster, err := enrollment.CAHashes(ca)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := enrollment.CAHashes(certtest.NewCA(t, "ca").PEM)
	if err != nil {
		t.Fatal(err)
	}
	key := certtest.NewKey(t)
	mine := enrollment.Fingerprint(&key.PublicKey)
	one := issue(t, "worker-1", ca, now, "192.0.2.7", "2001:db8::7")
	client := validClientCSR(key).csr(t)
	client.Annotations = one.sign(t, cluster, key)
	denied, waiting := client.DeepCopy(), client.DeepCopy()
	denied.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
		{Type: certificatesv1.CertificateDenied},
	}
	renewal := validClientCSR(key)
	renewal.spec.Username, renewal.spec.Groups = "system:node:worker-1", []string{"system:nodes", "system:authenticated"}
	other := validClientCSR(key)
	other.spec.SignerName = "kubernetes.io/kube-apiserver-client"
	grouped := validClientCSR(key)
	grouped.spec.Groups = append(grouped.spec.Groups, "system:masters")
	replayed := validClientCSR(certtest.NewKey(t)).csr(t)
	withGroup := grouped.csr(t)
	replayed.Annotations, withGroup.Annotations = client.Annotations, client.Annotations
	copied := client.DeepCopy()
	copied.Name = "aa-001"
	serving := validServingCSR(key).csr(t)
	good := Facts{
		Now: now, CAHashes: cluster, UsedKeys: map[string]string{}, Node: &NodeState{},
		NodesByAddress: map[netip.Addr][]string{},
	}
	with := func(change func(*Facts)) Facts {
		facts := good
		change(&facts)
		return facts
	}
	used := func(key string) Facts { return with(func(f *Facts) { f.UsedKeys = map[string]string{one.ID: key} }) }
	address := netip.MustParseAddr("2001:db8::7")
	owned := func(by ...string) Facts {
		facts := used(mine)
		facts.NodesByAddress = map[netip.Addr][]string{address: by}
		return facts
	}
	second := issue(t, "worker-2", ca, now, "2001:db8::7")
	expired := issue(t, "worker-2", ca, now.Add(-2*time.Hour), "2001:db8::7")
	abroad := issue(t, "worker-2", certtest.NewCA(t, "ca").PEM, now, "2001:db8::7")
	elsewhere := issue(t, "worker-2", ca, now, "192.0.2.66")
	beside := func(made issuedToken) []*enrollment.Enrollment {
		return []*enrollment.Enrollment{one.enrollment, made.enrollment}
	}
	ownedAndUsed := func(made issuedToken) Facts {
		facts := owned("worker-2")
		facts.UsedKeys[made.ID] = "SHA256:00"
		return facts
	}
	enrollments := []*enrollment.Enrollment{one.enrollment}
	withoutAddresses := *one.enrollment
	withoutAddresses.Addresses = nil
	unlimited := []*enrollment.Enrollment{&withoutAddresses}
	for name, test := range map[string]struct {
		csr         *kube.CSR
		enrollments []*enrollment.Enrollment
		facts       Facts
		want        Outcome
		reason      string
	}{
		"good":               {waiting, enrollments, good, Approved, ""},
		"the same key again": {waiting, enrollments, used(mine), Approved, ""},
		"another key before": {
			waiting, enrollments, used("SHA256:other"), Refused, "was already used with another key (SHA256:other)",
		},
		"recorded by hand":   {waiting, enrollments, used("rubbish"), Refused, "was already used"},
		"denied by a person": {denied, enrollments, good, Ignored, ""},
		"a renewal":          {renewal.csr(t), enrollments, good, Ignored, ""},
		"another signer":     {other.csr(t), enrollments, good, Ignored, ""},
		"expired": {
			waiting, enrollments, with(func(f *Facts) { f.Now = now.Add(time.Hour) }), Refused, "expired at",
		},
		"another cluster": {
			waiting, enrollments, with(func(f *Facts) { f.CAHashes = foreign }), Refused, "is for another cluster",
		},
		"a Node exists": {
			waiting, enrollments, with(func(f *Facts) { f.Node = &NodeState{Exists: true} }), Refused,
			"Node worker-1 already exists in the cluster",
		},
		"one group more": {withGroup, enrollments, good, Refused, "invalid groups: found"},
		"replayed on another key": {
			replayed, enrollments, good, Refused, "the signature of the CSR does not match",
		},
		"no join token": {
			validClientCSR(key).csr(t), enrollments, good, Refused, "it contains no join token, but node worker-1 has one",
		},
		"a copy":                   {copied, enrollments, good, Refused, "it is a copy"},
		"a copy, join token noted": {copied, enrollments, used(mine), Refused, "it is a copy"},
		"no enrollment":            {waiting, nil, good, Ignored, "no enrollment exists for its join token"},
		"state of the Node unknown": {
			waiting, enrollments, with(func(f *Facts) { f.Node = nil }), Ignored, "whether Node worker-1 exists is not known",
		},
		"serving": {serving, enrollments, used(mine), Approved, ""},
		"serving, enrollment expired": {
			serving, enrollments, func() Facts { f := used(mine); f.Now = now.Add(1000 * time.Hour); return f }(), Approved, "",
		},
		"serving, never used": {
			serving, enrollments, good, Ignored, "no join token of worker-1 was used",
		},
		"serving, no addresses enrolled": {
			serving, unlimited, used(mine), Ignored, "contains no addresses, so an administrator must check those of the CSR",
		},
		"serving, another cluster": {
			serving, enrollments, func() Facts { f := used(mine); f.CAHashes = foreign; return f }(), Ignored,
			"no join token of worker-1 was used",
		},
		"serving, own address": {serving, enrollments, owned("worker-1"), Approved, ""},
		"serving, Node without enrollment": {
			serving, enrollments, owned("worker-2"), Approved, "Node worker-2 has the same address 2001:db8::7",
		},
		"serving, both have it": {
			serving, enrollments, owned("worker-1", "worker-2"), Approved, "Node worker-2 has the same address 2001:db8::7",
		},
		"serving, enrollment of another address": {
			serving, beside(elsewhere), owned("worker-2"), Approved, "which is in no enrollment of worker-2",
		},
		"serving, enrollment of the address": {
			serving, beside(second), owned("worker-2"), Refused, "2001:db8::7 belongs to Node worker-2",
		},
		"serving, enrollment but no Node": {serving, beside(second), used(mine), Approved, ""},
		"serving, expired enrollment, never used": {
			serving, beside(expired), owned("worker-2"), Approved, "which is in no enrollment of worker-2",
		},
		"serving, expired enrollment, used": {
			serving, beside(expired), ownedAndUsed(expired), Refused, "2001:db8::7 belongs to Node worker-2",
		},
		"serving, enrollment of another cluster": {
			serving, beside(abroad), ownedAndUsed(abroad), Approved, "which is in no enrollment of worker-2",
		},
		"serving, addresses of the Nodes unknown": {
			serving, enrollments, func() Facts { f := used(mine); f.NodesByAddress = nil; return f }(), Ignored,
			"which Nodes have its addresses is not known",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(test.csr, byNode(test.enrollments...), test.facts)
			if d.Outcome != test.want || (test.reason == "") != (d.Reason == "") || !strings.Contains(d.Reason, test.reason) {
				t.Errorf("%s: %s, want %s: %s", d.Outcome, d.Reason, test.want, test.reason)
			}
			if (d.Outcome == Approved) != (d.Enrollment != nil) {
				t.Errorf("%s by the enrollment %v", d.Outcome, d.Enrollment)
			}
		})
	}
	empty := &kube.CSR{Spec: certificatesv1.CertificateSigningRequestSpec{
		SignerName: certificatesv1.KubeletServingSignerName,
	}}
	if d := Decide(empty, byNode(enrollments...), good); d.Outcome == Approved {
		t.Error("an empty CSR is approved")
	}
	wide := validServingCSR(key)
	wide.request.IPAddresses = append(wide.request.IPAddresses, net.ParseIP("192.0.2.99"))
	if d := Decide(wide.csr(t), byNode(enrollments...), used(mine)); d.Outcome != Refused {
		t.Errorf("an address that is not the enrollment's: %+v", d)
	}
}
