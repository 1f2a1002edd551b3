// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
)

// A CSR that differs in any way from that of the enrolled node is not approved, and the reason is
// reported. The first case is the reason why join tokens exist.
func TestControlPlaneRefusesInvalidCSRs(t *testing.T) {
	s := newTestCluster(t)
	real, foreign := csrtest.ClusterCA(t), csrtest.OtherCA(t)
	stolen := csrtest.Bootstrapper(t)
	csrtest.AllowCSRs(t, "somebody")

	in := s.newToken("refused-in", real, 0, "192.0.2.7") // its node has already joined
	inCSR, _ := csrtest.SubmitWithToken(t, in)
	bare := s.newToken("refused-bare", real, 0) // contains no addresses
	bareCSR, _ := csrtest.SubmitWithToken(t, bare)
	shared := s.newToken("refused-shared", real, 0, "192.0.2.77")
	sharedCSR, _ := csrtest.SubmitWithToken(t, shared)
	s.runOnce()
	for _, csr := range []string{inCSR, bareCSR, sharedCSR} {
		if got := csrtest.Conditions(t, csr); got != approvedByAgent {
			t.Fatalf("a valid CSR is %q: %+v", got, s.lastEvent(csr))
		}
	}
	csrtest.CreateNode(t, "refused-there", "192.0.2.70")
	csrtest.CreateNode(t, "refused-other", "192.0.2.77")
	s.newToken("refused-other", real, 0, "192.0.2.77")

	open := s.newToken("refused-open", real, 0, "192.0.2.8")
	expired := s.newToken("refused-expired", real, 2*time.Hour, "192.0.2.9")
	elsewhere := s.newToken("refused-elsewhere", foreign, 0, "192.0.2.10")
	there := s.newToken("refused-there", real, 0, "192.0.2.70")
	never := s.newToken("refused-never", real, 0, "192.0.2.11")

	key, other := certtest.NewKey(t), certtest.NewKey(t)
	proof := csrtest.Sign(t, open, real, &key.PublicKey)
	foreignProof := csrtest.Sign(t, never, real, &key.PublicKey)["node.hcp-agent.io/join-token-proof"]
	good := csrtest.ClientRequest{Client: stolen, Key: key, Node: "refused-open", Annotations: proof}
	with := func(change func(*csrtest.ClientRequest)) string {
		spoilt := good
		change(&spoilt)
		return spoilt.Submit(t)
	}
	as := func(user string, groups ...string) rest.ImpersonationConfig {
		return rest.ImpersonationConfig{UserName: user, Groups: groups}
	}
	bootstrapperWith := func(group string) *csrtest.ClientRequest {
		who := csrtest.Client(t, as(nodeBootstrapper, append(bootstrapperGroups(), group)...))
		return &csrtest.ClientRequest{Client: who, Key: key, Node: "refused-open", Annotations: proof}
	}
	serving := func(node string, names []string, ips ...string) string {
		var addresses []net.IP
		for _, ip := range ips {
			addresses = append(addresses, net.ParseIP(ip))
		}
		who := csrtest.Client(t, as("system:node:"+node, "system:nodes"))
		return submit(
			t,
			who,
			certtest.NewKey(t),
			certificatesv1.KubeletServingSignerName,
			certificatesv1.UsageServerAuth,
			nodeSubject(node),
			names,
			addresses...)
	}

	certificate := csrtest.AnnotateCertificate(t, certtest.NewCA(t, "kube-csr-signer"), key, x509.Certificate{
		Subject: nodeSubject("refused-in"), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotAfter: time.Now().Add(-time.Minute),
	})

	rows := []struct{ name, csr, want string }{
		{
			"a stolen bootstrap kubeconfig, and no join token",
			with(func(a *csrtest.ClientRequest) { a.Annotations = nil }),
			"it contains no join token, but node refused-open has one",
		},
		{"an unknown join token", with(func(a *csrtest.ClientRequest) {
			a.Annotations = map[string]string{
				"node.hcp-agent.io/join-token-id":    strings.Repeat("ab", 16),
				"node.hcp-agent.io/join-token-proof": proof["node.hcp-agent.io/join-token-proof"],
			}
		}), "no enrollment exists for its join token"},
		{"a changed name", with(func(a *csrtest.ClientRequest) { a.Node = "refused-king" }), "invalid subject: found"},
		{
			"another node's name that has an enrollment",
			with(func(a *csrtest.ClientRequest) { a.Node = "refused-never" }),
			"invalid subject: found",
		},
		{"a second key for an enrollment", func() string {
			second := certtest.NewKey(t)
			return csrtest.ClientRequest{
				Client:      stolen,
				Key:         second,
				Node:        "refused-in",
				Annotations: csrtest.Sign(t, in, real, &second.PublicKey),
			}.Submit(t)
		}(), "was already used with another key (SHA256:"},
		{
			"an expired enrollment",
			csrtest.ClientRequest{
				Client:      stolen,
				Key:         key,
				Node:        "refused-expired",
				Annotations: csrtest.Sign(t, expired, real, &key.PublicKey),
			}.Submit(t),
			"of node refused-expired expired at",
		},
		{
			"a name in the client CSR",
			with(func(a *csrtest.ClientRequest) { a.Names = []string{"api.example.com"} }),
			`invalid names: found ["api.example.com"]`,
		},
		{
			"an extra group",
			func() string { a := bootstrapperWith("example:extra"); return a.Submit(t) }(),
			"invalid groups: found",
		},
		{
			"another requestor",
			with(func(a *csrtest.ClientRequest) { a.Client = csrtest.Client(t, as("somebody", bootstrapperGroups()...)) }),
			"invalid requestor: found",
		},
		{"an extra usage", with(func(a *csrtest.ClientRequest) {
			a.Usages = []certificatesv1.KeyUsage{
				certificatesv1.UsageDigitalSignature,
				certificatesv1.UsageKeyEncipherment,
				certificatesv1.UsageClientAuth,
				certificatesv1.UsageServerAuth,
			}
		}), "invalid usages: found"},
		{
			"a replayed annotation on another key",
			with(func(a *csrtest.ClientRequest) { a.Key = other }),
			"the signature of the CSR does not match join token",
		},
		{"another join token's proof", with(func(a *csrtest.ClientRequest) {
			a.Annotations = map[string]string{
				"node.hcp-agent.io/join-token-id":    open.ID,
				"node.hcp-agent.io/join-token-proof": foreignProof,
			}
		}), "the signature of the CSR does not match join token"},
		{"a copy of the node's CSR", good.Submit(t), "it is a copy: its name is neither node-csr-"},
		{
			"an enrollment of another cluster",
			csrtest.ClientRequest{
				Client:      stolen,
				Key:         key,
				Node:        "refused-elsewhere",
				Annotations: csrtest.Sign(t, elsewhere, foreign, &key.PublicKey),
			}.Submit(t),
			"is for another cluster",
		},
		{
			"a Node of that name exists",
			csrtest.ClientRequest{
				Client:      stolen,
				Key:         key,
				Node:        "refused-there",
				Name:        csrtest.Name(t, key, "refused-there"),
				Annotations: csrtest.Sign(t, there, real, &key.PublicKey),
			}.Submit(t),
			"Node refused-there already exists in the cluster",
		},
		{
			"a copied certificate of the node",
			csrtest.ClientRequest{Client: stolen, Key: other, Node: "refused-in", Annotations: certificate}.Submit(t),
			"invalid certificate: found another key",
		},
		{
			"a certificate of another CA",
			csrtest.ClientRequest{
				Client:      stolen,
				Key:         key,
				Node:        "refused-in",
				Name:        csrtest.Name(t, key, "refused-in"),
				Annotations: certificate,
			}.Submit(t),
			"issued by a client CA of this cluster",
		},
		{
			"no join token, and no enrollment for that name",
			csrtest.ClientRequest{Client: stolen, Key: key, Node: "refused-unknown"}.Submit(t),
			`contains no join token, and no enrollment exists for node "refused-unknown"`,
		},
		{
			"serving: another machine's address",
			serving("refused-in", []string{"refused-in"}, "192.0.2.7", "192.0.2.8"),
			"the address 192.0.2.8",
		},
		{
			"serving: another name",
			serving("refused-in", []string{"refused-in", "api.example.com"}, "192.0.2.7"),
			`invalid names: found ["refused-in" "api.example.com" "192.0.2.7"]`,
		},
		{
			"serving: an IP of another Node",
			serving("refused-shared", []string{"refused-shared"}, "192.0.2.77"),
			"the address 192.0.2.77 belongs to Node refused-other",
		},
		{
			"serving: an enrollment without addresses",
			serving("refused-bare", []string{"refused-bare"}, "192.0.2.12"),
			"contains no addresses",
		},
		{
			"serving: an enrollment that was never used",
			serving("refused-never", []string{"refused-never"}, "192.0.2.11"),
			"no join token of refused-never was used",
		},
		{
			"serving: requested by the bootstrapper",
			submit(t, stolen, certtest.NewKey(t), certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth,
				nodeSubject("refused-in"), []string{"refused-in"}, net.ParseIP("192.0.2.7")),
			"invalid requestor: found",
		},
		{
			"serving: a node without an enrollment",
			serving("refused-unknown", []string{"refused-unknown"}, "192.0.2.13"),
			`no enrollment exists for node "refused-unknown"`,
		},
	}
	before := usageRecordsResourceVersion(t)
	s.runOnce()
	var table strings.Builder
	columns := tabwriter.NewWriter(&table, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		recorded := s.lastEvent(row.csr)
		fmt.Fprintf(columns, "%s\t%s\t%s\n", row.name, recorded.Outcome, normalizeSpaces(recorded.Reason))
		if (recorded.Outcome != Refused && recorded.Outcome != Ignored) || !strings.Contains(recorded.Reason, row.want) {
			t.Errorf("%s: %q %q, want %q", row.name, recorded.Outcome, recorded.Reason, row.want)
		}
		if got := csrtest.Conditions(t, row.csr); got != "" {
			t.Errorf("%s: the CSR is %q", row.name, got)
		}
	}
	if err := columns.Flush(); err != nil {
		t.Error(err)
	}
	t.Log("refused and ignored:\n" + table.String())
	if after := usageRecordsResourceVersion(t); after != before {
		t.Error("the usage records have changed")
	}

	// The same node's unmodified CSR is approved in the presence of all the others.
	good.Name = csrtest.Name(t, key, good.Node)
	csr := good.Submit(t)
	s.runOnce()
	if got := csrtest.Conditions(t, csr); got != approvedByAgent {
		t.Errorf("the unmodified CSR is %q: %+v", got, s.lastEvent(csr))
	}
}
