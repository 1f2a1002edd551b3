package approver

import (
	"crypto/ecdsa"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ticket"
)

type issuedTicket struct {
	*ticket.Ticket
	claim *ticket.Claim
}

func issue(t *testing.T, node string, ca []byte, now time.Time, lifetime time.Duration, ips ...string) issuedTicket {
	t.Helper()
	wish := ticket.Wish{NodeName: node, ClusterCA: ca, Lifetime: lifetime}
	for _, ip := range ips {
		wish.Addresses = append(wish.Addresses, netip.MustParseAddr(ip))
	}
	made, claim, err := ticket.New(wish, now)
	if err != nil {
		t.Fatal(err)
	}
	return issuedTicket{made, claim}
}

func (i issuedTicket) prove(t *testing.T, cluster []ticket.Hash, key *ecdsa.PrivateKey) map[string]string {
	t.Helper()
	annotations, err := i.Prove(cluster, &key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return annotations
}

// Only the facts vary; the CSR of either kind is valid. Hostile CSRs are tested against a real
// API server.
func TestDecide(t *testing.T) {
	now := time.Now()
	ca := certtest.NewAuthority(t, "ca").PEM
	cluster, err := ticket.Authorities(ca)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := ticket.Authorities(certtest.NewAuthority(t, "ca").PEM)
	if err != nil {
		t.Fatal(err)
	}
	key := certtest.NewKey(t)
	mine := ticket.Fingerprint(&key.PublicKey)
	one := issue(t, "worker-1", ca, now, time.Hour, "192.0.2.7", "2001:db8::7")
	newer := issue(t, "worker-1", ca, now, 2*time.Hour, "192.0.2.8")
	client := clientOf(key).csr(t)
	client.Annotations = one.prove(t, cluster, key)
	denied, waiting := client.DeepCopy(), client.DeepCopy()
	denied.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied}}
	renewal := clientOf(key)
	renewal.spec.Username, renewal.spec.Groups = "system:node:worker-1", []string{"system:nodes", "system:authenticated"}
	other := clientOf(key)
	other.spec.SignerName = "kubernetes.io/kube-apiserver-client"
	grouped := clientOf(key)
	grouped.spec.Groups = append(grouped.spec.Groups, "system:masters")
	replayed := clientOf(certtest.NewKey(t)).csr(t)
	withGroup := grouped.csr(t)
	replayed.Annotations, withGroup.Annotations = client.Annotations, client.Annotations
	copied := client.DeepCopy()
	copied.Name = "aa-001"
	serving := servingOf(key).csr(t)
	good := Facts{Now: now, Authorities: cluster, Bound: map[string]string{}}
	with := func(change func(*Facts)) Facts {
		facts := good
		change(&facts)
		return facts
	}
	used := func(key string) Facts { return with(func(f *Facts) { f.Bound = map[string]string{one.ID: key} }) }
	address := netip.MustParseAddr("2001:db8::7")
	owned := func(by ...string) Facts {
		facts := used(mine)
		facts.NodesOf = map[netip.Addr][]string{address: by}
		return facts
	}
	second := issue(t, "worker-2", ca, now, time.Hour, "2001:db8::7")
	expired := issue(t, "worker-2", ca, now.Add(-2*time.Hour), time.Hour, "2001:db8::7")
	abroad := issue(t, "worker-2", certtest.NewAuthority(t, "ca").PEM, now, time.Hour, "2001:db8::7")
	elsewhere := issue(t, "worker-2", ca, now, time.Hour, "192.0.2.66")
	beside := func(made issuedTicket) []*ticket.Claim { return []*ticket.Claim{one.claim, made.claim} }
	ownedAndUsed := func(made issuedTicket) Facts {
		facts := owned("worker-2")
		facts.Bound[made.ID] = "SHA256:00"
		return facts
	}
	claims := []*ticket.Claim{one.claim}
	for name, test := range map[string]struct {
		csr    *certificatesv1.CertificateSigningRequest
		claims []*ticket.Claim
		facts  Facts
		want   Verdict
		reason string
	}{
		"good":                               {waiting, claims, good, Approve, ""},
		"the same key again":                 {waiting, claims, used(mine), Approve, ""},
		"another key before":                 {waiting, claims, used("SHA256:other"), Refuse, "was used already, with another key (SHA256:other)"},
		"noted by somebody's hand":           {waiting, claims, used(longForm("rubbish")), Refuse, "was used already"},
		"denied by a person":                 {denied, claims, good, Leave, ""},
		"a renewal":                          {renewal.csr(t), claims, good, Leave, ""},
		"another signer":                     {other.csr(t), claims, good, Leave, ""},
		"expired":                            {waiting, claims, with(func(f *Facts) { f.Now = now.Add(time.Hour) }), Refuse, "expired at"},
		"another cluster":                    {waiting, claims, with(func(f *Facts) { f.Authorities = foreign }), Refuse, "is for another cluster"},
		"a Node is there":                    {waiting, claims, with(func(f *Facts) { f.NodeExists = true }), Refuse, "a Node worker-1 is in the cluster already"},
		"one group more":                     {withGroup, claims, good, Refuse, "its groups are"},
		"replayed on another key":            {replayed, claims, good, Refuse, "its proof was not made"},
		"no ticket":                          {clientOf(key).csr(t), claims, good, Refuse, "it carries no ticket, and the node worker-1 has one"},
		"no room for the note":               {waiting, claims, with(func(f *Facts) { f.Full = true }), Leave, "is full"},
		"full, but noted before":             {waiting, claims, func() Facts { f := used(mine); f.Full = true; return f }(), Approve, ""},
		"a copy":                             {copied, claims, good, Refuse, "it is a copy"},
		"a copy, ticket noted":               {copied, claims, used(mine), Refuse, "it is a copy"},
		"no claim":                           {waiting, nil, good, Leave, "no claim of its ticket"},
		"two claims of the node":             {waiting, []*ticket.Claim{one.claim, newer.claim}, good, Approve, ""},
		"serving":                            {serving, claims, used(mine), Approve, ""},
		"serving, claim expired":             {serving, claims, func() Facts { f := used(mine); f.Now = now.Add(1000 * time.Hour); return f }(), Approve, ""},
		"serving, never used":                {serving, claims, good, Leave, "no ticket of worker-1 was used"},
		"serving, another cluster":           {serving, claims, func() Facts { f := used(mine); f.Authorities = foreign; return f }(), Leave, "no ticket of worker-1 was used"},
		"serving, own address":               {serving, claims, owned("worker-1"), Approve, ""},
		"serving, Node without claim":        {serving, claims, owned("worker-2"), Approve, "the Node worker-2 has the address 2001:db8::7, too"},
		"serving, both have it":              {serving, claims, owned("worker-1", "worker-2"), Approve, "the Node worker-2 has the address 2001:db8::7, too"},
		"serving, claim of another address":  {serving, beside(elsewhere), owned("worker-2"), Approve, "which no claim of worker-2 names"},
		"serving, claim of the address":      {serving, beside(second), owned("worker-2"), Refuse, "2001:db8::7 is that of the Node worker-2"},
		"serving, claim but no Node":         {serving, beside(second), used(mine), Approve, ""},
		"serving, expired claim, never used": {serving, beside(expired), owned("worker-2"), Approve, "which no claim of worker-2 names"},
		"serving, expired claim, used":       {serving, beside(expired), ownedAndUsed(expired), Refuse, "2001:db8::7 is that of the Node worker-2"},
		"serving, claim of another cluster":  {serving, beside(abroad), ownedAndUsed(abroad), Approve, "which no claim of worker-2 names"},
		"serving, by the newest":             {serving, []*ticket.Claim{one.claim, newer.claim}, with(func(f *Facts) { f.Bound = map[string]string{one.ID: mine, newer.ID: mine} }), Refuse, "with the address"},
		"serving, newest not in use":         {serving, []*ticket.Claim{one.claim, newer.claim}, used(mine), Approve, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(test.csr, NewClaims(test.claims), test.facts)
			if d.Verdict != test.want || (test.reason == "") != (d.Reason == "") || !strings.Contains(d.Reason, test.reason) {
				t.Errorf("%s: %s, want %s: %s", d.Verdict, d.Reason, test.want, test.reason)
			}
			if (d.Verdict == Approve) != (d.Claim != nil) {
				t.Errorf("%s by the claim %v", d.Verdict, d.Claim)
			}
		})
	}
	if d := Decide(&certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: "kubernetes.io/kubelet-serving"}}, NewClaims(claims), good); d.Verdict == Approve {
		t.Error("an empty CSR is approved")
	}
	wide := servingOf(key)
	wide.request.IPAddresses = append(wide.request.IPAddresses, net.ParseIP("192.0.2.99"))
	if d := Decide(wide.csr(t), NewClaims(claims), used(mine)); d.Verdict != Refuse {
		t.Errorf("an address that is not the claim's: %+v", d)
	}
}

func TestNotesComeBack(t *testing.T) {
	key := certtest.NewKey(t)
	fingerprint := ticket.Fingerprint(&key.PublicKey)
	if short := shortForm(fingerprint); len(short) != 43 || longForm(short) != fingerprint {
		t.Errorf("%s is noted as %s and read as %s", fingerprint, short, longForm(short))
	}
	if whole := mostBindings * (32 + 43 + 8); whole > 1<<20 {
		t.Errorf("%d notes have %d bytes, and an object may have %d", mostBindings, whole, 1<<20)
	}
}

func TestClaimsDirectory(t *testing.T) {
	dir := t.TempDir()
	d := claimsDir{path: dir}
	put := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	encoded := func(i issuedTicket) []byte {
		content, err := i.claim.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	check := func(what string, count int, problems ...string) Claims {
		t.Helper()
		if !d.changed() {
			t.Errorf("%s: the change is not seen", what)
		}
		claims, told := d.load()
		if claims.Len() != count || len(told) != len(problems) {
			t.Fatalf("%s: %d claims, problems %v; want %d, %q", what, claims.Len(), told, count, problems)
		}
		for i, problem := range problems {
			if !strings.Contains(told[i].Error(), problem) {
				t.Errorf("%s: %v, want %q", what, told[i], problem)
			}
		}
		if d.changed() {
			t.Errorf("%s: it changes by being read", what)
		}
		return claims
	}
	ca := certtest.NewAuthority(t, "ca").PEM
	one, two := issue(t, "worker-1", ca, time.Now(), time.Hour), issue(t, "worker-2", ca, time.Now(), time.Hour)
	if claims, problems := d.load(); claims.Len() != 0 || len(problems) != 0 {
		t.Errorf("an empty directory has %d claims and %v", claims.Len(), problems)
	}
	put("one.claim", encoded(one))
	put("README", []byte("not a claim"))
	check("one", 1)
	put("broken.claim", []byte("x"))
	if err := os.Mkdir(filepath.Join(dir, "dir.claim"), 0o700); err != nil {
		t.Fatal(err)
	}
	put("two.claim", encoded(two))
	claims := check("broken ones beside good ones", 2, "broken.claim: reading the claim", "dir.claim: it is not a file")
	if claims.byID[two.ID] == nil || len(claims.byNode["worker-1"]) != 1 {
		t.Errorf("%+v", claims)
	}
	put("huge.claim", make([]byte, 1<<20))
	put("same.claim", encoded(one))
	check("one claim twice", 1, "broken.claim", "dir.claim", "huge.claim: reading the claim: it has more than 16 KiB", "one.claim and same.claim are claims of the same ticket")
	d.path = filepath.Join(dir, "gone")
	check("no directory", 0, "reading the directory of claims")
}
