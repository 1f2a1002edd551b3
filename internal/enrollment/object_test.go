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
	for _, policy := range []v1alpha1.ReinstallPolicy{"", v1alpha1.ReinstallAllow, v1alpha1.ReinstallAllowSameToken} {
		_, enrollment := newToken(t, fullOptions(t))
		enrollment.NodePool, enrollment.Reinstall = "pool", policy
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
	desired.NodePool, desired.Reinstall = "pool", v1alpha1.ReinstallAllow
	_, enrollment := newToken(t, desired)
	content, err := enrollment.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"as written":          string(content),
		"as oc get prints it": string(content) + "status:\n  phase: Pending\n",
	} {
		read, err := ParseEnrollment([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if a, b := fmt.Sprintf("%#v", *enrollment), fmt.Sprintf("%#v", *read); a != b {
			t.Errorf("%s: enrollment\n%s\n%s", name, a, b)
		}
		summary, err := ParseSummary([]byte(text), noon)
		if err != nil || summary.Kind != KindEnrollment || len(summary.Addresses) != 3 {
			t.Errorf("%s: summary %+v, %v", name, summary, err)
		}
	}
}
