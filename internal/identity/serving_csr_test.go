// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// servingCSR returns a serving CSR as kubelet creates it.
func servingCSR(
	t *testing.T, name, user string, age time.Duration, names []string, addresses ...string,
) *kube.CSR {
	t.Helper()
	subject := nodeSubject("worker-1")
	var ips []net.IP
	for _, address := range addresses {
		ips = append(ips, net.ParseIP(address))
	}
	request, err := cert.MakeCSR(certtest.NewKey(t), &subject, names, ips)
	if err != nil {
		t.Fatal(err)
	}
	return &kube.CSR{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Now().Add(-age))},
		Spec:       certificatesv1.CertificateSigningRequestSpec{Username: user, Request: request},
	}
}

// newServing returns worker-1 with two addresses. Validate accepts only CSRs
// with a good name.
func newServing(t *testing.T) *Serving {
	t.Helper()
	return &Serving{
		Conn:      &kube.Conn{Endpoint: kube.Endpoint{Clock: &kube.ServerClock{}}},
		NodeName:  "worker-1",
		Dir:       t.TempDir(),
		Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")},
		Validate: func(csr *kube.CSR) error {
			if strings.HasPrefix(csr.Name, "good") {
				return nil
			}
			return errors.New("its usages are wrong")
		},
	}
}

const ownUser = "system:node:worker-1"

func TestSelectServingCSR(t *testing.T) {
	names := []string{"worker-1"}
	tests := map[string]struct {
		csrs         []*kube.CSR
		want, misfit string
	}{
		"none": {},
		"another node's": {csrs: []*kube.CSR{servingCSR(t, "good",
			"system:node:worker-2", 0, names)}},
		"the newest": {csrs: []*kube.CSR{servingCSR(t, "good-old",
			ownUser, 20*time.Minute, names), servingCSR(t, "good", ownUser, 5*time.Minute, names)}, want: "good"},
		"an old one alone": {csrs: []*kube.CSR{servingCSR(t, "good-old",
			ownUser, 20*time.Hour, names)}, want: "good-old"},
		"newer one does not fit": {
			csrs: []*kube.CSR{servingCSR(t, "good", ownUser,
				5*time.Minute, names), servingCSR(t, "bad", ownUser, 0, names, "192.0.2.99")}, want: "good",
			misfit: "serving CSR bad does not match",
		},
		"the other is given up": {
			csrs: []*kube.CSR{servingCSR(t, "good", ownUser,
				16*time.Minute, names), servingCSR(t, "bad", ownUser, 0, names, "192.0.2.99")},
			misfit: "serving CSR bad does not match",
		},
		"older one does not fit": {csrs: []*kube.CSR{servingCSR(t, "bad", ownUser,
			5*time.Minute, names), servingCSR(t, "good", ownUser, 0, names)}, want: "good"},
		"same second, other name": {csrs: []*kube.CSR{servingCSR(t, "good-a", ownUser,
			0, names), servingCSR(t, "good-b", ownUser, 0, names)}, want: "good-b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			found := map[string]*kube.CSR{}
			for _, csr := range test.csrs {
				csr.CreationTimestamp = csr.CreationTimestamp.Rfc3339Copy() // whole seconds, as the API server has them
				found[csr.Name] = csr
			}
			got := newServing(t).selectCSR(found)
			if (got.csr == nil) != (test.want == "") || (got.csr != nil && got.csr.Name != test.want) {
				t.Errorf("selectCSR() = %v, want %q", got.csr, test.want)
			}
			if (got.rejected == nil) != (test.misfit == "") ||
				(got.rejected != nil && !strings.Contains(got.rejected.Text, test.misfit)) {
				t.Errorf("selectCSR() misfit = %v, want %q", got.rejected, test.misfit)
			}
		})
	}
}

func TestServingCSRMismatchIsExplained(t *testing.T) {
	const intro = "serving CSR bad does not match this machine, do not approve it: "
	tests := map[string]struct {
		names     []string
		addresses []string
		want      string
	}{
		"address of another": {
			names:     []string{"worker-1"},
			addresses: []string{"192.0.2.7", "192.0.2.99"},
			want: "it requests the address 192.0.2.99, which this machine does not have (it has 192.0.2.7, 2001:db8::7); " +
				"another machine uses this name, or the address has changed",
		},
		"no address yet": {
			names: []string{"worker-1"},
			want:  "it requests no address: the Node had no address when kubelet created it",
		},
		"another name": {
			names: []string{"worker-2"}, addresses: []string{"192.0.2.7"},
			want: "it requests worker-2, but this node is worker-1",
		},
		"one name more": {
			names: []string{"worker-1", "api.example.com"}, addresses: []string{"192.0.2.7"},
			want: "it requests worker-1, api.example.com, but this node is worker-1",
		},
		"no name": {addresses: []string{"192.0.2.7"}, want: "it requests no name, but this node is worker-1"},
		"something other": {
			names: []string{"worker-1"}, addresses: []string{"192.0.2.7"},
			want: "its usages are wrong",
		},
	}
	for name, test := range tests {
		got := newServing(t).explainMismatch(servingCSR(t, "bad", ownUser, 0, test.names, test.addresses...))
		if got == nil || got.Text != intro+test.want || got.Remedy == "" {
			t.Errorf("%s: misfit() = %+v, want %q", name, got, intro+test.want)
		}
	}
}

func TestServingRenewalStatus(t *testing.T) {
	ca := certtest.NewCA(t, "signer")
	stored := func(ago, ahead time.Duration) []byte {
		template := servingCertificate("worker-1", "192.0.2.7")
		template.NotBefore, template.NotAfter = time.Now().Add(-ago), time.Now().Add(ahead)
		return ca.Issue(t, certtest.NewKey(t), template)
	}
	waiting := servingCSR(t, "good", ownUser, time.Minute, []string{"worker-1"}, "192.0.2.7")
	answered := waiting.DeepCopy()
	withConditions("Approved")(answered)
	foreign := servingCSR(t, "bad", ownUser, time.Minute, []string{"worker-1"}, "192.0.2.99")
	tests := map[string]struct {
		leaf []byte
		csr  *kube.CSR
		name string // name of the pending CSR
		want string // "" if nothing needs attention
	}{
		"waits": {
			leaf: stored(8*time.Hour, 2*time.Hour),
			csr:  waiting,
			name: "good",
			want: "; kubelet is waiting for approval of serving CSR good for system:node:worker-1",
		},
		"answered": {leaf: stored(8*time.Hour, 2*time.Hour), csr: answered},
		"does not fit": {
			leaf: stored(8*time.Hour, 2*time.Hour), csr: foreign,
			want: "which this machine does not have",
		},
		"no request yet": {leaf: stored(8*time.Hour, 2*time.Hour)},
		"no request, and late": {
			leaf: stored(95*time.Hour, 5*time.Hour),
			want: "kubelet has not received the next one; logs, exec",
		},
	}
	for name, test := range tests {
		found := map[string]*kube.CSR{}
		if test.csr != nil {
			found[test.csr.Name] = test.csr
		}
		got := newServing(t).renewalStatus(leafOf(t, test.leaf), found, time.Now())
		if got.CSR != test.name || (got.Text == "") != (test.want == "") || !strings.Contains(got.Text, test.want) ||
			(got.Text == "") != (got.Remedy == "") {
			t.Errorf("%s: renewal() = %+v, want %q", name, got, test.want)
		}
	}

	// Early in the certificate's lifetime no request is sent: it would fail
	// without a server.
	s := newServing(t)
	writeFile(t, filepath.Join(s.Dir, "kubelet-server-current.pem"), stored(5*time.Hour, 5*time.Hour))
	if got, err := s.CheckRenewal(t.Context()); err != nil || got != (Renewal{}) {
		t.Errorf("CheckRenewal() = %+v, %v", got, err)
	}
	identity := &Identity{Dir: s.Dir, NodeName: "worker-1"}
	for share, want := range map[time.Duration]bool{85 * time.Hour: false, 95 * time.Hour: true} {
		writeFile(t, identity.clientCertificatePath(), stored(share, 100*time.Hour-share))
		if got := identity.CheckRenewal(time.Now()); (got.Text != "") != want {
			t.Errorf("CheckRenewal() after %s of 100h = %+v", share, got)
		}
	}
	writeFile(t, identity.clientCertificatePath(), stored(101*time.Hour, -time.Hour))
	if got := identity.CheckRenewal(time.Now()); !strings.Contains(got.Text, "so the API server rejects Node worker-1") ||
		!strings.HasPrefix(string(got.Remedy), "hcp-node-agent join --user-data USER_DATA") {
		t.Errorf("CheckRenewal() after the expiry = %+v", got)
	}
}

func TestInitialServingStatus(t *testing.T) {
	waiting := servingCSR(t, "good", ownUser, time.Minute, []string{"worker-1"}, "192.0.2.7")
	denied := waiting.DeepCopy()
	withConditions("Denied")(denied)
	for name, test := range map[string]struct {
		csr          *kube.CSR
		want, remedy string
	}{
		"waits": {
			csr: waiting, want: "it is waiting for approval of serving CSR good for system:node:worker-1",
			remedy: "oc adm certificate approve good",
		},
		"denied": {
			csr: denied, want: "its CSR good is Denied (",
			remedy: "systemctl restart kubelet # kubelet requests a new certificate",
		},
		"does not fit": {
			csr:  servingCSR(t, "bad", ownUser, time.Minute, []string{"worker-1"}, "192.0.2.99"),
			want: "serving CSR bad does not match this machine", remedy: "ip -br address",
		},
		"no request": {want: noServingCSRText, remedy: "journalctl -b -u kubelet"},
	} {
		found := map[string]*kube.CSR{}
		if test.csr != nil {
			found[test.csr.Name] = test.csr
		}
		if got := newServing(t).initialStatus(found); !strings.HasPrefix(got.Text, test.want) ||
			!strings.Contains(string(got.Remedy), test.remedy) {
			t.Errorf("%s: %+v, want %q and %q", name, got, test.want, test.remedy)
		}
	}
}
