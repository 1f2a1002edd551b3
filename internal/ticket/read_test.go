package ticket

import (
	"strings"
	"testing"
	"time"
)

func encodeBoth(t testing.TB) (ticketText, claimText string) {
	t.Helper()
	ticket, claim := newToken(t, fullOptions(t))
	a, err := ticket.Encode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := claim.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(a), string(b)
}

// replaceOnce returns text with old replaced. It fails the test if old does not occur.
func replaceOnce(t *testing.T, text, old, changed string) string {
	t.Helper()
	got := strings.Replace(text, old, changed, 1)
	if got == text {
		t.Fatalf("there is no %q in\n%s", old, text)
	}
	return got
}

func TestParsersRejectInvalidDocuments(t *testing.T) {
	ticketText, claimText := encodeBoth(t)
	before, rest, _ := strings.Cut(ticketText, "privateKey: |\n")
	key := strings.TrimSpace(strings.Split(rest, "\n")[1])
	change := func(text, old, changed string) string { return replaceOnce(t, text, old, changed) }
	for name, test := range map[string]struct {
		content string
		claim   bool
		want    string
	}{
		"empty":                 {" \n", false, "reading the ticket: it is empty"},
		"empty claim":           {"", true, "reading the claim: it is empty"},
		"not YAML":              {"{", false, "it is no YAML"},
		"a claim as a ticket":   {claimText, false, `kind "Claim", and "node.hcp-agent.io/v1alpha1" and "Ticket" are due`},
		"a ticket as a claim":   {ticketText, true, `kind "Ticket", and`},
		"another version":       {change(ticketText, "v1alpha1", "v9"), false, `has apiVersion "node.hcp-agent.io/v9"`},
		"unknown field":         {ticketText + "nodename2: x\n", false, "a field is unknown"},
		"there twice":           {claimText + "nodeName: worker-8\n", true, "there twice"},
		"another type":          {change(claimText, "nodeName: worker", "nodeName: [worker"), true, "it is no YAML"},
		"two documents":         {claimText + "---\n" + claimText, true, "more than one document"},
		"ended document":        {claimText + "...\n" + claimText, true, "more than one document"},
		"too long ticket":       {ticketText + strings.Repeat("#\n", maxTokenBytes/2), false, "more than 256 KiB"},
		"too long claim":        {claimText + strings.Repeat("#\n", maxEnrollmentBytes/2), true, "more than 16 KiB"},
		"no id":                 {change(claimText, "\nid: ", "\nid: ''#"), true, `id: "" is not 32`},
		"long id":               {change(claimText, "\nid: ", "\nid: aa"), true, "is not 32 hexadecimal digits"},
		"bad name":              {change(claimText, "nodeName: worker", "nodeName: Worker"), true, "is not the name of a node"},
		"long name":             {change(claimText, "nodeName: worker", "nodeName: "+strings.Repeat("a", 60)), true, "is not the name of a node"},
		"no expiry":             {change(claimText, "expires: \"", "expires: \"x"), true, "is not a time like"},
		"no CA":                 {change(claimText, "clusterCA:\n", "clusterCA: []\n#"), true, ""},
		"bad hash":              {change(claimText, "SHA256:", "SHA1:"), true, "clusterCA: \"SHA1:"},
		"loopback":              {change(claimText, "192.0.2.7", "127.0.0.1"), true, "no other machine reaches"},
		"link-local":            {change(claimText, "192.0.2.7", "169.254.1.1"), true, "no other machine reaches"},
		"mapped":                {change(claimText, "192.0.2.7", "::ffff:192.0.2.7"), true, "not a plain IPv4"},
		"zone":                  {change(claimText, "2001:db8::7", "2001:db8::7%eth0"), true, "not a plain IPv4"},
		"no address":            {change(claimText, "192.0.2.7", "worker-7"), true, "addresses: "},
		"address twice":         {change(claimText, "2001:db8::7", "192.0.2.7"), true, "is there twice"},
		"no key":                {change(claimText, "publicKey", "#"), true, ""},
		"another kind of key":   {change(claimText, "MCowBQYDK2VwAyEA", "MCowBQYDK2VuAyEA"), true, "publicKey: it is not one Ed25519 key"},
		"private key damaged":   {change(ticketText, key, "A"+key[1:]), false, "privateKey: it is not one Ed25519 key"},
		"private key missing":   {before, false, "privateKey: it is not one Ed25519 key"},
		"a secret in a claim":   {claimText + "privateKey: x\n", true, "a secret must not be in a claim"},
		"a claim's in a ticket": {ticketText + "addresses: []\n", false, "are a claim's"},
		"bad label":             {change(ticketText, "plain=", "plain"), false, "labels: \"plain\" is not key=value"},
		"bad taint":             {change(ticketText, ":NoExecute", ":Never"), false, "taints: \"alone:Never\""},
		"label twice":           {change(ticketText, "plain=", "example.com/rack=r1"), false, "is there twice"},
	} {
		var err error
		if test.claim {
			_, err = ParseEnrollment([]byte(test.content))
		} else {
			_, err = ParseToken([]byte(test.content))
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 600 {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if err != nil && (strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "CANARY")) {
			t.Errorf("%s: the sentence shows a secret: %v", name, err)
		}
	}
	for _, content := range []string{"---\n" + claimText, "# a\n\n---\n" + claimText, strings.ReplaceAll(claimText, "\n", "\r\n")} {
		if _, err := ParseEnrollment([]byte(content)); err != nil {
			t.Errorf("%v in\n%s", err, content)
		}
	}
}

func TestParseSummaryRejectsOtherDocuments(t *testing.T) {
	for _, content := range []string{"", "kind: Secret", "{", "kind: Claim"} {
		if shown, err := ParseSummary([]byte(content), time.Now()); err == nil {
			t.Errorf("%q is shown as %+v", content, shown)
		}
	}
}

// Arbitrary input must cause an error without a secret, or must be unchanged after encoding and
// parsing.
func FuzzParse(f *testing.F) {
	ticketText, claimText := encodeBoth(f)
	f.Add([]byte(ticketText))
	f.Add([]byte(claimText))
	f.Add([]byte("{kind: Claim, a: &a [*a]}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if ticket, err := ParseToken(content); err == nil {
			written, err := ticket.Encode()
			if err != nil {
				t.Fatal(err)
			}
			again, err := ParseToken(written)
			if err != nil || again.ID != ticket.ID || !again.key.Equal(ticket.key) || !again.Expires.Equal(ticket.Expires) {
				t.Errorf("%v, then %v: %v", ticket, again, err)
			}
		}
		if claim, err := ParseEnrollment(content); err == nil {
			written, err := claim.Encode()
			if err != nil {
				t.Fatal(err)
			}
			again, err := ParseEnrollment(written)
			if err != nil || again.ID != claim.ID || !again.key.Equal(claim.key) || len(again.Addresses) != len(claim.Addresses) {
				t.Errorf("%v, then %v: %v", claim, again, err)
			}
		}
	})
}
