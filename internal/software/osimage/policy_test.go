// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestCheckPolicy(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	pullSpec := "quay.example.com:8443/release/os@" + digest
	const accept, reject = `[{"type":"insecureAcceptAnything"}]`, `[{"type":"reject"}]`
	const signed = `[{"type":"signedBy","keyType":"GPGKeys","keyPath":"/k"}]`
	scoped := func(scopes string) string {
		return `{"default":` + accept + `,"transports":{"docker":{` + scopes + `}}}`
	}
	for name, test := range map[string]struct {
		policy, want string // want "": accepted
	}{
		"of a payload": {
			policy: `{"default":` + accept + `,"transports":{"docker-daemon":{"":` + accept + `}}}`,
		},
		"another transport":   {policy: `{"default":` + accept + `,"transports":{"atomic":{"":` + reject + `}}}`},
		"another registry":    {policy: scoped(`"other.example.com":` + reject)},
		"only part of a name": {policy: scoped(`"quay.example.com:8443/rel":` + reject)},
		"default rejects":     {policy: `{"default":` + reject + `}`, want: "rejects OS image " + pullSpec},
		"default requires signature": {
			policy: `{"default":` + signed + `}`,
			want:   "requires signedBy for OS image " + pullSpec,
		},
		"default of docker": {policy: scoped(`"":` + reject), want: "rejects"},
		"registry":          {policy: scoped(`"quay.example.com:8443":` + reject), want: "rejects"},
		"repository":        {policy: scoped(`"quay.example.com:8443/release/os":` + reject), want: "rejects"},
		"image":             {policy: scoped(`"` + pullSpec + `":` + reject), want: "rejects"},
		"domain":            {policy: scoped(`"*.example.com":` + reject), want: "rejects"},
		"narrowest scope": {
			policy: scoped(`"quay.example.com:8443/release":` + accept + `,"quay.example.com:8443":` + reject),
		},
		"sigstore": {
			policy: scoped(`"quay.example.com:8443":[{"type":"sigstoreSigned","keyPath":"/k"}]`),
			want:   "requires sigstoreSigned",
		},
		"each requirement": {
			policy: scoped(`"":[{"type":"insecureAcceptAnything"},{"type":"signedBy"}]`),
			want:   "requires signedBy",
		},
		"no requirements": {policy: scoped(`"":[]`), want: "has no requirement"},
		"empty":           {policy: `{}`, want: "has no requirement"},
		"no JSON":         {policy: `{`, want: "reading the signature policy"},
	} {
		err := CheckPolicy(pullSpec, []byte(test.policy))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: CheckPolicy() = %v, want %q", name, err, test.want)
		}
		if err != nil && (report.CodeOf(err) != report.Refused || report.RemedyOf(err) == "") {
			t.Errorf("%s: code %d, remedy %q", name, report.CodeOf(err), report.RemedyOf(err))
		}
	}
}

// skopeo verifies signatures, but older versions not those of an image of an index for several architectures.
func TestCheckPullPolicy(t *testing.T) {
	digest, err := empty.Image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	image, ofIndex := digest.String(), "sha256:"+strings.Repeat("a", 64)
	const sigstore, reject = `{"default":[{"type":"sigstoreSigned","keyPath":"/k"}]}`, `{"default":[{"type":"reject"}]}`
	const accept, signed = `{"default":[{"type":"insecureAcceptAnything"}]}`, `{"default":[{"type":"signedBy"}]}`
	for name, test := range map[string]struct {
		digest, policy, skopeo, want string // want "": accepted
	}{
		"one architecture":        {digest: image, policy: sigstore, skopeo: "1.18.1"},
		"index":                   {digest: ofIndex, policy: sigstore, skopeo: "1.22.2"},
		"index, old skopeo":       {digest: ofIndex, policy: sigstore, skopeo: "1.22.0", want: "skopeo 1.22.0"},
		"index, unknown skopeo":   {digest: ofIndex, policy: sigstore},
		"index, GPG, old skopeo":  {digest: ofIndex, policy: signed, skopeo: "1.18.1"},
		"rejected":                {digest: image, policy: reject, skopeo: "1.22.2", want: "rejects OS image"},
		"index, without a policy": {digest: ofIndex, policy: accept, skopeo: "1.18.1"},
	} {
		pulled := &Image{Image: empty.Image, PullSpec: "quay.example.com/release/os@" + test.digest}
		err := CheckPullPolicy(pulled, []byte(test.policy), test.skopeo)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: CheckPullPolicy() = %v, want %q", name, err, test.want)
		}
	}
}
