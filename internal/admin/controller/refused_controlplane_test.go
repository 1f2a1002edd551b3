// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"crypto/ecdsa"
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Annotations of a CSR with a join token.
const (
	annotationID    = "hcp-node-agent.io/join-token-id"
	annotationProof = "hcp-node-agent.io/join-token-proof"
)

const nodeBootstrapper = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"

func bootstrapperGroups(more ...string) []string {
	return append([]string{
		"system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator", "system:authenticated",
	}, more...)
}

// refusedCSR is a CSR that must not be approved.
type refusedCSR struct{ name, csr, want string }

// A CSR that differs in any way from that of the enrolled node is not approved, and the reason is reported. The first
// case is the reason why join tokens exist.
func TestControlPlaneRefusesInvalidCSRs(t *testing.T) {
	c := startController(t)
	csrtest.AllowCSRs(t, "somebody")
	in := enroll(t, "refused-in", "192.0.2.7") // its node has already joined
	inCSR, _ := csrtest.SubmitWithToken(t, in)
	bareCSR, _ := csrtest.SubmitWithToken(t, enroll(t, "refused-bare")) // contains no addresses
	sharedCSR, _ := csrtest.SubmitWithToken(t, enroll(t, "refused-shared", "192.0.2.77"))
	for _, csr := range []string{inCSR, bareCSR, sharedCSR} {
		c.awaitApproved(csr)
	}
	csrtest.CreateNode(t, "refused-other", "192.0.2.77")
	enroll(t, "refused-other", "192.0.2.77")
	enroll(t, "refused-never", "192.0.2.11")

	key := certtest.NewKey(t)
	good := csrtest.TokenRequest(t, enroll(t, "refused-open", "192.0.2.8"), key)
	rows := append(refusedClientCSRs(t, good), refusedTokens(t, key, in)...)
	rows = append(rows, refusedServingCSRs(t)...)
	var table strings.Builder
	columns := tabwriter.NewWriter(&table, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		var last logEntry
		waittest.Until(t, "waiting for the decision: "+row.name, func() (any, bool) {
			last = c.last(row.csr)
			return last, last.CSR != ""
		})
		fmt.Fprintf(columns, "%s\t%s\t%s\n", row.name, last.Message, strings.Join(strings.Fields(last.Reason), " "))
		if last.Message == string(approver.Approved) || !strings.Contains(last.Reason, row.want) {
			t.Errorf("%s: %q %q, want %q", row.name, last.Message, last.Reason, row.want)
		}
		checkPending(t, row.csr)
	}
	if err := columns.Flush(); err != nil {
		t.Error(err)
	}
	t.Log("refused and ignored:\n" + table.String())
	for _, node := range []string{"refused-open", "refused-other", "refused-never"} {
		if got := getEnrollment(t, node); got.Spec.UsedBy != nil || got.Status.ClientCSR != "" {
			t.Errorf("%s was used: %+v", node, got)
		}
	}

	// The same node's unmodified CSR is approved in the presence of all the others.
	c.awaitApproved(good.Submit(t))
	if all := c.errors(); len(all) > 0 {
		t.Errorf("logged: %+v", all)
	}
}

// refusedClientCSRs submits the CSR of an enrolled node with one change each.
func refusedClientCSRs(t *testing.T, good csrtest.ClientRequest) []refusedCSR {
	t.Helper()
	with := func(change func(*csrtest.ClientRequest)) string {
		spoilt := good
		spoilt.Name = ""
		change(&spoilt)
		return spoilt.Submit(t)
	}
	as := func(user string, groups ...string) func(*csrtest.ClientRequest) {
		return func(r *csrtest.ClientRequest) {
			r.Client = csrtest.Client(t, rest.ImpersonationConfig{UserName: user, Groups: groups})
		}
	}
	proof := func(id, proof string) func(*csrtest.ClientRequest) {
		return func(r *csrtest.ClientRequest) {
			r.Annotations = map[string]string{annotationID: id, annotationProof: proof}
		}
	}
	never, _ := newEnrollment(t, "refused-never", csrtest.ClusterCA(t))
	foreignProof := csrtest.Sign(t, never, csrtest.ClusterCA(t), &good.Key.PublicKey)[annotationProof]
	return []refusedCSR{
		{
			"a stolen bootstrap kubeconfig, and no join token",
			with(func(r *csrtest.ClientRequest) { r.Annotations = nil }),
			"it contains no join token, but node refused-open has one",
		},
		{
			"an unknown join token",
			with(proof(strings.Repeat("ab", 16), good.Annotations[annotationProof])),
			"no enrollment exists for its join token",
		},
		{
			"another join token's proof",
			with(proof(good.Annotations[annotationID], foreignProof)),
			"the signature of the CSR does not match join token",
		},
		{
			"a changed name",
			with(func(r *csrtest.ClientRequest) { r.Node = "refused-king" }),
			"invalid subject: found",
		},
		{
			"another node's name that has an enrollment",
			with(func(r *csrtest.ClientRequest) { r.Node = "refused-never" }),
			"invalid subject: found",
		},
		{
			"a name in the client CSR",
			with(func(r *csrtest.ClientRequest) { r.Names = []string{"api.example.com"} }),
			`invalid names: found ["api.example.com"]`,
		},
		{
			"an extra group", with(as(nodeBootstrapper, bootstrapperGroups("example:extra")...)), "invalid groups: found",
		},
		{"another requestor", with(as("somebody", bootstrapperGroups()...)), "invalid requestor: found"},
		{
			"an extra usage",
			with(func(r *csrtest.ClientRequest) {
				r.Usages = []certificatesv1.KeyUsage{
					certificatesv1.UsageDigitalSignature,
					certificatesv1.UsageKeyEncipherment,
					certificatesv1.UsageClientAuth,
					certificatesv1.UsageServerAuth,
				}
			}),
			"invalid usages: found",
		},
		{
			"a replayed annotation on another key",
			with(func(r *csrtest.ClientRequest) { r.Key = certtest.NewKey(t) }),
			"the signature of the CSR does not match join token",
		},
		{"a copy of the node's CSR", with(func(*csrtest.ClientRequest) {}), "it is a copy: its name is neither node-csr-"},
		{
			"no join token, and no enrollment for that name",
			csrtest.ClientRequest{Client: good.Client, Key: good.Key, Node: "refused-unknown"}.Submit(t),
			`contains no join token, and no enrollment exists for node "refused-unknown"`,
		},
	}
}

// refusedTokens submits CSRs of other join tokens. That of used is bound to another key.
func refusedTokens(t *testing.T, key *ecdsa.PrivateKey, used *enrollment.Token) []refusedCSR {
	t.Helper()
	expired, object := newEnrollment(t, "refused-expired", csrtest.ClusterCA(t))
	object.Spec.Expires = metav1.NewTime(time.Now().Add(-time.Minute))
	create(t, object)
	foreign, object := newEnrollment(t, "refused-foreign", csrtest.OtherCA(t))
	create(t, object)
	ofForeign := csrtest.ClientRequest{
		Client:      csrtest.Bootstrapper(t),
		Key:         key,
		Node:        "refused-foreign",
		Annotations: csrtest.Sign(t, foreign, csrtest.OtherCA(t), &key.PublicKey),
	}
	csrtest.CreateNode(t, "refused-there", "192.0.2.70")
	there := enroll(t, "refused-there", "192.0.2.70")
	second, _ := csrtest.SubmitWithToken(t, used)
	certificate := csrtest.AnnotateCertificate(t, certtest.NewCA(t, "kube-csr-signer"), key, x509.Certificate{
		Subject: csrtest.Subject("refused-in"), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotAfter: time.Now().Add(-time.Minute),
	})
	withCertificate := csrtest.ClientRequest{
		Client: csrtest.Bootstrapper(t), Key: key, Node: "refused-in", Annotations: certificate,
	}
	copiedCertificate := withCertificate
	copiedCertificate.Key = certtest.NewKey(t)
	return []refusedCSR{
		{"a second key for an enrollment", second, "was already used with another key (SHA256:"},
		{
			"an expired enrollment",
			csrtest.TokenRequest(t, expired, key).Submit(t),
			"of node refused-expired expired at",
		},
		{"an enrollment of another cluster", ofForeign.Submit(t), "is for another cluster"},
		{
			"a Node of that name exists",
			csrtest.TokenRequest(t, there, key).Submit(t),
			"Node refused-there already exists in the cluster",
		},
		{"a copied certificate of the node", copiedCertificate.Submit(t), "invalid certificate: found another key"},
		{"a certificate of another CA", withCertificate.Submit(t), "issued by a client CA of this cluster"},
	}
}

// refusedServingCSRs submits serving CSRs that must not be approved.
func refusedServingCSRs(t *testing.T) []refusedCSR {
	t.Helper()
	serving := func(node string, addresses ...string) string {
		return csrtest.ServingRequest{Node: node, Addresses: addresses}.Submit(t)
	}
	return []refusedCSR{
		{
			"serving: another machine's address",
			serving("refused-in", "192.0.2.7", "192.0.2.8"),
			"it requests 192.0.2.8; the node has",
		},
		{
			"serving: another name",
			csrtest.ServingRequest{
				Node: "refused-in", Names: []string{"refused-in", "api.example.com"}, Addresses: []string{"192.0.2.7"},
			}.Submit(t),
			`invalid names: found ["refused-in" "api.example.com" "192.0.2.7"]`,
		},
		{
			"serving: an address of another Node",
			serving("refused-shared", "192.0.2.77"),
			"the address 192.0.2.77 belongs to Node refused-other",
		},
		{"serving: an enrollment without addresses", serving("refused-bare", "192.0.2.12"), "contains no addresses"},
		{
			"serving: an enrollment that was never used",
			serving("refused-never", "192.0.2.11"),
			"no join token of refused-never was used",
		},
		{
			"serving: requested by the bootstrapper",
			csrtest.ServingRequest{
				Client: csrtest.Bootstrapper(t), Node: "refused-in", Addresses: []string{"192.0.2.7"},
			}.Submit(t),
			"invalid requestor: found",
		},
		{
			"serving: a node without an enrollment",
			serving("refused-unknown", "192.0.2.13"),
			`no enrollment exists for node "refused-unknown"`,
		},
	}
}
