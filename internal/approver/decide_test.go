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

type issuedToken struct {
	*ticket.Token
	enrollment *ticket.Enrollment
}

func issue(t *testing.T, node string, ca []byte, now time.Time, lifetime time.Duration, ips ...string) issuedToken {
	t.Helper()
	wish := ticket.Options{NodeName: node, ClusterCA: ca, Lifetime: lifetime}
	for _, ip := range ips {
		wish.Addresses = append(wish.Addresses, netip.MustParseAddr(ip))
	}
	made, claim, err := ticket.New(wish, now)
	if err != nil {
		t.Fatal(err)
	}
	return issuedToken{made, claim}
}

func (i issuedToken) sign(t *testing.T, cluster []ticket.Hash, key *ecdsa.PrivateKey) map[string]string {
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
	cluster, err := ticket.CAHashes(ca)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := ticket.CAHashes(certtest.NewCA(t, "ca").PEM)
	if err != nil {
		t.Fatal(err)
	}
	key := certtest.NewKey(t)
	mine := ticket.Fingerprint(&key.PublicKey)
	one := issue(t, "worker-1", ca, now, time.Hour, "192.0.2.7", "2001:db8::7")
	newer := issue(t, "worker-1", ca, now, 2*time.Hour, "192.0.2.8")
	client := validClientCSR(key).csr(t)
	client.Annotations = one.sign(t, cluster, key)
	denied, waiting := client.DeepCopy(), client.DeepCopy()
	denied.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied}}
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
	good := Facts{Now: now, CAHashes: cluster, UsedKeys: map[string]string{}}
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
	second := issue(t, "worker-2", ca, now, time.Hour, "2001:db8::7")
	expired := issue(t, "worker-2", ca, now.Add(-2*time.Hour), time.Hour, "2001:db8::7")
	abroad := issue(t, "worker-2", certtest.NewCA(t, "ca").PEM, now, time.Hour, "2001:db8::7")
	elsewhere := issue(t, "worker-2", ca, now, time.Hour, "192.0.2.66")
	beside := func(made issuedToken) []*ticket.Enrollment {
		return []*ticket.Enrollment{one.enrollment, made.enrollment}
	}
	ownedAndUsed := func(made issuedToken) Facts {
		facts := owned("worker-2")
		facts.UsedKeys[made.ID] = "SHA256:00"
		return facts
	}
	claims := []*ticket.Enrollment{one.enrollment}
	for name, test := range map[string]struct {
		csr    *certificatesv1.CertificateSigningRequest
		claims []*ticket.Enrollment
		facts  Facts
		want   Outcome
		reason string
	}{
		"good":                               {waiting, claims, good, Approved, ""},
		"the same key again":                 {waiting, claims, used(mine), Approved, ""},
		"another key before":                 {waiting, claims, used("SHA256:other"), Refused, "was used already, with another key (SHA256:other)"},
		"noted by somebody's hand":           {waiting, claims, used(decodeFingerprint("rubbish")), Refused, "was used already"},
		"denied by a person":                 {denied, claims, good, Ignored, ""},
		"a renewal":                          {renewal.csr(t), claims, good, Ignored, ""},
		"another signer":                     {other.csr(t), claims, good, Ignored, ""},
		"expired":                            {waiting, claims, with(func(f *Facts) { f.Now = now.Add(time.Hour) }), Refused, "expired at"},
		"another cluster":                    {waiting, claims, with(func(f *Facts) { f.CAHashes = foreign }), Refused, "is for another cluster"},
		"a Node is there":                    {waiting, claims, with(func(f *Facts) { f.NodeExists = true }), Refused, "a Node worker-1 is in the cluster already"},
		"one group more":                     {withGroup, claims, good, Refused, "its groups are"},
		"replayed on another key":            {replayed, claims, good, Refused, "its proof was not made"},
		"no ticket":                          {validClientCSR(key).csr(t), claims, good, Refused, "it carries no ticket, and the node worker-1 has one"},
		"no room for the note":               {waiting, claims, with(func(f *Facts) { f.UsageRecordsFull = true }), Ignored, "is full"},
		"full, but noted before":             {waiting, claims, func() Facts { f := used(mine); f.UsageRecordsFull = true; return f }(), Approved, ""},
		"a copy":                             {copied, claims, good, Refused, "it is a copy"},
		"a copy, ticket noted":               {copied, claims, used(mine), Refused, "it is a copy"},
		"no claim":                           {waiting, nil, good, Ignored, "no claim of its ticket"},
		"two claims of the node":             {waiting, []*ticket.Enrollment{one.enrollment, newer.enrollment}, good, Approved, ""},
		"serving":                            {serving, claims, used(mine), Approved, ""},
		"serving, claim expired":             {serving, claims, func() Facts { f := used(mine); f.Now = now.Add(1000 * time.Hour); return f }(), Approved, ""},
		"serving, never used":                {serving, claims, good, Ignored, "no ticket of worker-1 was used"},
		"serving, another cluster":           {serving, claims, func() Facts { f := used(mine); f.CAHashes = foreign; return f }(), Ignored, "no ticket of worker-1 was used"},
		"serving, own address":               {serving, claims, owned("worker-1"), Approved, ""},
		"serving, Node without claim":        {serving, claims, owned("worker-2"), Approved, "the Node worker-2 has the address 2001:db8::7, too"},
		"serving, both have it":              {serving, claims, owned("worker-1", "worker-2"), Approved, "the Node worker-2 has the address 2001:db8::7, too"},
		"serving, claim of another address":  {serving, beside(elsewhere), owned("worker-2"), Approved, "which no claim of worker-2 names"},
		"serving, claim of the address":      {serving, beside(second), owned("worker-2"), Refused, "2001:db8::7 is that of the Node worker-2"},
		"serving, claim but no Node":         {serving, beside(second), used(mine), Approved, ""},
		"serving, expired claim, never used": {serving, beside(expired), owned("worker-2"), Approved, "which no claim of worker-2 names"},
		"serving, expired claim, used":       {serving, beside(expired), ownedAndUsed(expired), Refused, "2001:db8::7 is that of the Node worker-2"},
		"serving, claim of another cluster":  {serving, beside(abroad), ownedAndUsed(abroad), Approved, "which no claim of worker-2 names"},
		"serving, by the newest":             {serving, []*ticket.Enrollment{one.enrollment, newer.enrollment}, with(func(f *Facts) { f.UsedKeys = map[string]string{one.ID: mine, newer.ID: mine} }), Refused, "with the address"},
		"serving, newest not in use":         {serving, []*ticket.Enrollment{one.enrollment, newer.enrollment}, used(mine), Approved, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(test.csr, NewEnrollments(test.claims), test.facts)
			if d.Outcome != test.want || (test.reason == "") != (d.Reason == "") || !strings.Contains(d.Reason, test.reason) {
				t.Errorf("%s: %s, want %s: %s", d.Outcome, d.Reason, test.want, test.reason)
			}
			if (d.Outcome == Approved) != (d.Enrollment != nil) {
				t.Errorf("%s by the claim %v", d.Outcome, d.Enrollment)
			}
		})
	}
	if d := Decide(&certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: "kubernetes.io/kubelet-serving"}}, NewEnrollments(claims), good); d.Outcome == Approved {
		t.Error("an empty CSR is approved")
	}
	wide := validServingCSR(key)
	wide.request.IPAddresses = append(wide.request.IPAddresses, net.ParseIP("192.0.2.99"))
	if d := Decide(wide.csr(t), NewEnrollments(claims), used(mine)); d.Outcome != Refused {
		t.Errorf("an address that is not the claim's: %+v", d)
	}
}

func TestUsageRecordsRoundTrip(t *testing.T) {
	key := certtest.NewKey(t)
	fingerprint := ticket.Fingerprint(&key.PublicKey)
	if short := encodeFingerprint(fingerprint); len(short) != 43 || decodeFingerprint(short) != fingerprint {
		t.Errorf("%s is noted as %s and read as %s", fingerprint, short, decodeFingerprint(short))
	}
	if whole := maxUsageRecords * (32 + 43 + 8); whole > 1<<20 {
		t.Errorf("%d notes have %d bytes, and an object may have %d", maxUsageRecords, whole, 1<<20)
	}
}

func TestEnrollmentDirectory(t *testing.T) {
	dir := t.TempDir()
	d := enrollmentDir{path: dir}
	put := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	encoded := func(i issuedToken) []byte {
		content, err := i.enrollment.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	check := func(what string, count int, problems ...string) Enrollments {
		t.Helper()
		if !d.hasChanged() {
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
		if d.hasChanged() {
			t.Errorf("%s: it changes by being read", what)
		}
		return claims
	}
	ca := certtest.NewCA(t, "ca").PEM
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
