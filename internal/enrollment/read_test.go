// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func encodeFull(t testing.TB) (tokenText, enrollmentText string) {
	t.Helper()
	token, enrollment := newToken(t, fullOptions(t))
	secret, err := token.Encode()
	if err != nil {
		t.Fatal(err)
	}
	public, err := enrollment.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(secret), string(public)
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
	tokenText, enrollmentText := encodeFull(t)
	before, rest, _ := strings.Cut(tokenText, "privateKey: |\n")
	key := strings.TrimSpace(strings.Split(rest, "\n")[1])
	change := func(text, old, changed string) string { return replaceOnce(t, text, old, changed) }
	for name, test := range map[string]struct {
		content    string
		enrollment bool
		want       string
	}{
		"empty":            {" \n", false, "reading the join token: the file is empty"},
		"empty enrollment": {"", true, "reading the enrollment: the file is empty"},
		"not YAML":         {"{", false, "is not valid YAML"},
		"an enrollment as a join token": {
			enrollmentText, false,
			"the file is a NodeEnrollment, which is for the cluster; the node requires its join token, NAME.token",
		},
		"a join token as an enrollment": {tokenText, true, "the file is a join token, which is for the node"},
		"another kind": {
			change(tokenText, "JoinToken", "Pod"), false, `the file is of kind "Pod" in version`,
		},
		"no kind":         {"a: b\n", false, "the file is not of kind JoinToken: it has neither kind nor"},
		"a list":          {"- a\n", false, "the file is not a YAML document with kind and apiVersion"},
		"another version": {change(tokenText, "v1alpha1", "v9"), false, `in version "hcp-node-agent.io/v9"`},
		"unknown field":   {tokenText + "nodename2: x\n", false, `does not know the field "nodename2"`},
		"another kind of manifest": {
			change(enrollmentText, "NodeEnrollment", "NodeRollout"), true, "not of kind NodeEnrollment",
		},
		"foreign domain": {
			change(enrollmentText, "hcp-node-agent.io/", "example.com/"), true, "not of kind NodeEnrollment",
		},
		"version of an enrollment": {change(enrollmentText, "/v1alpha1", "/v9"), true, "NodeEnrollment in version"},
		"unknown field of an enrollment": {
			enrollmentText + "future: x\n", true, `does not know the field "future"`,
		},
		"there twice": {enrollmentText + "kind: NodeRollout\n", true, "contains a field twice"},
		"number as a name": {
			change(enrollmentText, "name: ", "name: 8 #"), true, "wrong type",
		},
		"number as an id": {change(enrollmentText, "tokenID: ", "tokenID: 7 #"), true, "wrong type"},
		"another type": {
			change(enrollmentText, "name: worker", "name: [worker"), true, "is not valid YAML",
		},
		"two documents":       {enrollmentText + "---\n" + enrollmentText, true, "more than one YAML document"},
		"ended document":      {enrollmentText + "...\n" + enrollmentText, true, "more than one YAML document"},
		"too long join token": {tokenText + strings.Repeat("#\n", maxTokenBytes/2), false, "larger than 256 KiB"},
		"too long enrollment": {
			enrollmentText + strings.Repeat("#\n", maxEnrollmentBytes/2), true, "larger than 16 KiB",
		},
		"no id": {change(enrollmentText, "tokenID: ", "tokenID: ''#"), true, `id: "" is not 32`},
		"long id": {
			change(enrollmentText, "tokenID: ", "tokenID: aa"), true, "is not 32 hexadecimal digits",
		},
		"bad name": {
			change(enrollmentText, "name: worker", "name: Worker"), true, "is not a valid node name",
		},
		"long name": {
			change(enrollmentText, "name: worker", "name: "+strings.Repeat("a", 60)), true, "is not a valid node name",
		},
		"no expiry": {
			change(tokenText, "expires: \"", "expires: \"x"), false, "is not a time such as",
		},
		"no expiry of an enrollment": {change(enrollmentText, "expires: \"", "expires: \"x"), true, "wrong type"},
		"no CA":                      {change(enrollmentText, "clusterCA:\n  -", "clusterCA: []\n#"), true, ""},
		"bad hash":                   {change(enrollmentText, "SHA256:", "SHA1:"), true, "clusterCA: \"SHA1:"},
		"loopback": {
			change(enrollmentText, "192.0.2.7", "127.0.0.1"), true, "other machines cannot reach",
		},
		"link-local": {
			change(enrollmentText, "192.0.2.7", "169.254.1.1"), true, "other machines cannot reach",
		},
		"mapped": {
			change(enrollmentText, "192.0.2.7", "::ffff:192.0.2.7"), true, "not a plain IPv4",
		},
		"zone": {
			change(enrollmentText, "2001:db8::7", "2001:db8::7%eth0"), true, "not a plain IPv4",
		},
		"no address":    {change(enrollmentText, "192.0.2.7", "worker-7"), true, "addresses: "},
		"address twice": {change(enrollmentText, "2001:db8::7", "192.0.2.7"), true, "duplicate entry"},
		"no key":        {change(enrollmentText, "publicKey", "#"), true, ""},
		"another kind of key": {
			change(enrollmentText, "MCowBQYDK2VwAyEA", "MCowBQYDK2VuAyEA"), true, "publicKey: not a single Ed25519 key",
		},
		"private key damaged": {
			change(tokenText, key, "A"+key[1:]), false, "privateKey: not a single Ed25519 key",
		},
		"private key missing": {before, false, "privateKey: not a single Ed25519 key"},
		"a secret in an enrollment": {
			enrollmentText + "privateKey: x\n", true, `does not know the field "privateKey"`,
		},
		"an enrollment's in a join token": {
			tokenText + "addresses: []\n", false, `does not know the field "addresses"`,
		},
		"bad label": {
			change(tokenText, "plain=", "plain"), false, "labels: \"plain\" is not a label in the format key=value",
		},
		"bad taint":   {change(tokenText, ":NoExecute", ":Never"), false, "taints: \"alone:Never\""},
		"label twice": {change(tokenText, "plain=", "example.com/rack=r1"), false, "duplicate entry"},
		"network without a use": {
			change(tokenText, "use: pods", "use: ''"), false, "clusterNetworks: use is missing",
		},
		"bits behind the length of a network": {
			change(tokenText, "10.132.0.0/14", "10.132.0.1/14"), false, `"10.132.0.1/14" is not a network such as`,
		},
		"empty network":  {change(tokenText, "10.132.0.0/14", "''"), false, "is not a network such as"},
		"no network":     {change(tokenText, "10.132.0.0/14", "all"), false, "a value has the wrong type"},
		"mapped network": {change(tokenText, "10.132.0.0/14", "::ffff:10.0.0.0/104"), false, "is not a network such as"},
		"too many networks": {
			change(tokenText, "clusterNetworks:\n", "clusterNetworks:\n"+strings.Repeat("- {use: a, cidr: 10.0.0.0/8}\n", 63)),
			false, "clusterNetworks: 65 entries; at most 64 are allowed",
		},
		"network twice": {
			change(tokenText, "clusterNetworks:\n", "clusterNetworks:\n- {use: pods, cidr: 10.132.0.0/14}\n"), false,
			"clusterNetworks: duplicate entry",
		},
		"cluster beside user data": {
			tokenText + "cluster: {server: 'https://a', token: t, secret: a}\n", false,
			"userData and cluster exclude each other",
		},
	} {
		var err error
		if test.enrollment {
			_, err = ParseEnrollment([]byte(test.content))
		} else {
			_, err = ParseToken([]byte(test.content))
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") ||
			len(err.Error()) > 600 {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if err != nil && (strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "CANARY")) {
			t.Errorf("%s: the sentence shows a secret: %v", name, err)
		}
	}
	for _, content := range []string{
		"---\n" + enrollmentText, "# a\n\n---\n" + enrollmentText,
		strings.ReplaceAll(enrollmentText, "\n", "\r\n"),
	} {
		if _, err := ParseEnrollment([]byte(content)); err != nil {
			t.Errorf("%v in\n%s", err, content)
		}
	}
}

// A later version can add a network for another use.
func TestTokenAcceptsUnknownUseOfNetwork(t *testing.T) {
	tokenText, _ := encodeFull(t)
	token, err := ParseToken([]byte(replaceOnce(t, tokenText, "use: pods", "use: tunnels")))
	if err != nil || len(token.Networks) != 2 || token.Networks[0].Use != "tunnels" {
		t.Errorf("%v, networks %v", err, token)
	}
}

// The remedy for what another version has written is that version, not another join token.
func TestOtherVersionsAreRefusedWithRemedy(t *testing.T) {
	tokenText, enrollmentText := encodeFull(t)
	key := certtest.NewKey(t)
	token, enrollment := newToken(t, fullOptions(t))
	parseToken := func(content string) error {
		_, err := ParseToken([]byte(content))
		return err
	}
	parseEnrollment := func(content string) error {
		_, err := ParseEnrollment([]byte(content))
		return err
	}
	parseSummary := func(content string) error {
		_, err := ParseSummary([]byte(content), noon)
		return err
	}
	proof := map[string]string{AnnotationID: token.ID, annotationSignature: "v2:AAAA"}
	name := map[string]string{annotationNameSignature: "v2:AAAA"}
	for what, err := range map[string]error{
		"version of a join token":     parseToken(replaceOnce(t, tokenText, "v1alpha1", "v9")),
		"field of a join token":       parseToken(tokenText + "future: x\n"),
		"version of an enrollment":    parseEnrollment(replaceOnce(t, enrollmentText, "/v1alpha1", "/v9")),
		"field of an enrollment":      parseEnrollment(enrollmentText + "future: x\n"),
		"summary of a join token":     parseSummary(tokenText + "future: x\n"),
		"summary of an enrollment":    parseSummary(enrollmentText + "future: x\n"),
		"signature of the join token": enrollment.Verify(token.ClusterCA, &key.PublicKey, proof),
		"signature of a CSR's name":   CheckCSRName(RandomCSRName(), "worker-7", &key.PublicKey, name),
	} {
		if report.CodeOf(err) != report.Refused ||
			!strings.HasPrefix(string(report.RemedyOf(err)), "dnf upgrade 'hcp-node-*'") {
			t.Errorf("%s: %v (code %d, remedy %q)", what, err, report.CodeOf(err), report.RemedyOf(err))
		}
	}
}

func TestParseSummaryRejectsOtherDocuments(t *testing.T) {
	for _, content := range []string{"", "kind: Secret", "{", "kind: NodeEnrollment"} {
		if shown, err := ParseSummary([]byte(content), time.Now()); err == nil {
			t.Errorf("%q is shown as %+v", content, shown)
		}
	}
}

// Arbitrary input must cause an error without a secret, or must be unchanged after encoding and
// parsing.
func FuzzParse(f *testing.F) {
	tokenText, enrollmentText := encodeFull(f)
	f.Add([]byte(tokenText))
	f.Add([]byte(enrollmentText))
	f.Add([]byte("{kind: NodeEnrollment, a: &a [*a]}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if token, err := ParseToken(content); err == nil {
			written, err := token.Encode()
			if err != nil {
				t.Fatal(err)
			}
			again, err := ParseToken(written)
			if err != nil || again.ID != token.ID || !again.key.Equal(token.key) || !again.Expires.Equal(token.Expires) {
				t.Errorf("%v, then %v: %v", token, again, err)
			}
		}
		if enrollment, err := ParseEnrollment(content); err == nil {
			written, err := enrollment.Encode()
			if err != nil {
				t.Fatal(err)
			}
			again, err := ParseEnrollment(written)
			if err != nil || again.ID != enrollment.ID || !again.key.Equal(enrollment.key) ||
				len(again.Addresses) != len(enrollment.Addresses) {
				t.Errorf("%v, then %v: %v", enrollment, again, err)
			}
		}
	})
}
