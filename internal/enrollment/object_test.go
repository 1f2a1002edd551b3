// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

func TestObjectContainsTheEnrollment(t *testing.T) {
	for _, replaces := range []bool{false, true} {
		_, enrollment := newToken(t, fullOptions(t))
		enrollment.NodePool, enrollment.ReplacesNode = "pool", replaces
		object, err := enrollment.Object()
		if err != nil {
			t.Fatal(err)
		}
		read, err := FromObject(object)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprintf("%#v", *enrollment), fmt.Sprintf("%#v", *read); a != b {
			t.Errorf("enrollment\n%s\n%s", a, b)
		}
	}
}

func TestFromObjectRejectsInvalidObjects(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1alpha1.NodeEnrollment)
		want   string
	}{
		"name":      {func(o *v1alpha1.NodeEnrollment) { o.Name = strings.Repeat("n", 64) }, "nodeName"},
		"token":     {func(o *v1alpha1.NodeEnrollment) { o.Spec.TokenID = "x" }, "id"},
		"key":       {func(o *v1alpha1.NodeEnrollment) { o.Spec.PublicKey = "x" }, "publicKey"},
		"cluster":   {func(o *v1alpha1.NodeEnrollment) { o.Spec.ClusterCA = []string{"x"} }, "clusterCA"},
		"address":   {func(o *v1alpha1.NodeEnrollment) { o.Spec.Addresses = []string{"192.0.2.300"} }, "addresses"},
		"host bits": {func(o *v1alpha1.NodeEnrollment) { o.Spec.Addresses = []string{"192.0.2.7/24"} }, "use 192.0.2.0/24"},
	} {
		_, enrollment := newToken(t, fullOptions(t))
		object, err := enrollment.Object()
		if err != nil {
			t.Fatal(err)
		}
		test.change(object)
		if _, err := FromObject(object); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7":               "192.0.2.7/32",
		"2001:db8::7":             "2001:db8::7/128",
		"192.0.2.0/24":            "192.0.2.0/24",
		"2001:db8::/64":           "2001:db8::/64",
		"192.0.2.7/24":            "",
		"0.0.0.0/0":               "",
		"::/0":                    "",
		"127.0.0.1":               "",
		"fe80::1":                 "",
		"fe80::1%eth0":            "",
		"::ffff:192.0.2.7":        "",
		"::ffff:192.0.2.0/120":    "",
		"192.0.2.0/33":            "",
		"host.example.com":        "",
		"192.0.2.1-192.0.2.9":     "",
		"192.0.2.0/255.255.255.0": "",
		"":                        "",
	} {
		prefix, err := ParseAddress(text)
		switch {
		case (err == nil) != (want != ""):
			t.Errorf("%q: %v, %v", text, prefix, err)
		case err == nil && prefix != netip.MustParsePrefix(want):
			t.Errorf("%q: %v, want %s", text, prefix, want)
		case err == nil:
			// An address of full length is printed without it.
			if printed := FormatAddresses([]netip.Prefix{prefix})[0]; printed != text {
				t.Errorf("%q is printed as %q", text, printed)
			}
		}
	}
}

func TestManifestParsesUnchanged(t *testing.T) {
	desired := fullOptions(t)
	desired.NodePool, desired.ReplacesNode = "pool", true
	_, enrollment := newToken(t, desired)
	content, err := enrollment.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"as written":           string(content),
		"as oc get prints it":  string(content) + "status:\n  phase: Pending\n",
		"in the former format": encodeOld(t, enrollment),
	} {
		want := *enrollment
		if strings.Contains(text, "kind: Enrollment") {
			want.NodePool, want.ReplacesNode, want.Labels, want.Taints = "", false, nil, nil
		}
		read, err := ParseEnrollment([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if a, b := fmt.Sprintf("%#v", want), fmt.Sprintf("%#v", *read); a != b {
			t.Errorf("%s: enrollment\n%s\n%s", name, a, b)
		}
		summary, err := ParseSummary([]byte(text), noon)
		if err != nil || summary.Kind != KindEnrollment || len(summary.Addresses) != 3 {
			t.Errorf("%s: summary %+v, %v", name, summary, err)
		}
	}
}

// An object contains all fields of a manifest, and those of a file in the former format.
func TestParseObject(t *testing.T) {
	_, enrollment := newToken(t, fullOptions(t))
	content, err := enrollment.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for text, rack := range map[string]string{string(content): "r1", encodeOld(t, enrollment): ""} {
		object, err := ParseObject([]byte(text))
		if err != nil || object.Name != enrollment.NodeName || object.Spec.TokenID != enrollment.ID ||
			len(object.Spec.Addresses) != 3 || object.Spec.Labels["example.com/rack"] != rack {
			t.Errorf("%s\n%+v, %v", text, object, err)
		}
	}
	if _, err := ParseObject([]byte("kind: NodeEnrollment\n")); err == nil {
		t.Error("an invalid manifest is an object")
	}
}

func TestParsersRejectInvalidManifests(t *testing.T) {
	_, enrollment := newToken(t, fullOptions(t))
	content, err := enrollment.Encode()
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for name, test := range map[string]struct{ text, want string }{
		"token":          {text, "the file is a NodeEnrollment, which is for the cluster"},
		"version":        {replaceOnce(t, text, "/v1alpha1", "/v9"), "NodeEnrollment in version"},
		"unknown field":  {text + "future: x\n", `does not know the field "future"`},
		"type":           {replaceOnce(t, text, "tokenID: ", "tokenID: 7 #"), "wrong type"},
		"key":            {replaceOnce(t, text, "MCowBQYDK2VwAyEA", "MCowBQYDK2VuAyEA"), "not a single Ed25519 key"},
		"name":           {replaceOnce(t, text, "name: worker", "name: Worker"), "not a valid node name"},
		"another kind":   {replaceOnce(t, text, "NodeEnrollment", "NodeRollout"), "not of kind Enrollment"},
		"two documents":  {text + "---\n" + text, "more than one YAML document"},
		"foreign domain": {replaceOnce(t, text, "hcp-node-agent.io/", "example.com/"), "not of kind Enrollment"},
	} {
		_, err := ParseEnrollment([]byte(test.text))
		if name == "token" {
			_, err = ParseToken([]byte(test.text))
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
