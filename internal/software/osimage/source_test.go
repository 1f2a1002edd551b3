// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"strings"
	"testing"
)

// A blocked registry may only be contacted through its mirrors (mirrorSourcePolicy: NeverContactSource).
func TestBlockedRegistries(t *testing.T) {
	const (
		pullSpec = "quay.example.com/release/art@sha256:0123456789012345678901234567890123456789012345678901234567890123"
		source   = "[[registry]]\nlocation = \"quay.example.com/release/art\"\n"
		first    = "[[registry.mirror]]\nlocation = \"mirror.example.com:5000/art\"\n"
		second   = "[[registry.mirror]]\nlocation = \"other.example.com/art\"\n"
		blocks   = "[[registry]]\nlocation = \"mirror.example.com:5000\"\nblocked = true\n"
	)
	for name, test := range map[string]struct{ registries, dropIn, want, wantErr string }{
		"mirrors of a blocked registry": {
			registries: source + "blocked = true\n" + first + second, want: "mirror.example.com:5000 other.example.com",
		},
		"another location, which is blocked": {
			registries: "[[registry]]\nprefix = \"quay.example.com\"\nlocation = \"mirror.example.com:5000/quay\"\n" + blocks,
			wantErr:    "blocks registry mirror.example.com:5000",
		},
		"all of a domain blocked, and a mirror elsewhere": {
			registries: "[[registry]]\nprefix = \"*.example.com\"\nblocked = true\n" +
				"[[registry.mirror]]\nlocation = \"mirror.example.org\"\n",
			want: "mirror.example.org",
		},
		"mirrors in a drop-in": {
			registries: source + first, dropIn: source + "blocked = true\n" + second, want: "other.example.com",
		},
		"a whole registry is blocked, and a part of it is not": {
			registries: "[[registry]]\nlocation = \"quay.example.com\"\nblocked = true\n" + source + first,
			want:       "mirror.example.com:5000 quay.example.com",
		},
		"not blocked":      {registries: source + first, want: "mirror.example.com:5000 quay.example.com"},
		"a blocked mirror": {registries: source + first + blocks, want: "quay.example.com"},
		"the registry and a mirror": {
			registries: source + "blocked = true\n" + first + second + blocks, want: "other.example.com",
		},
		"everything":     {registries: source + "blocked = true\n" + first + blocks, wantErr: "blocks registry"},
		"without mirror": {registries: source + "blocked = true\n", wantErr: "blocks registry quay.example.com/release/art"},
		"mirror for tags": {
			registries: source + "blocked = true\n" + first + "pull-from-mirror = \"tag-only\"\n", wantErr: "blocks registry",
		},
	} {
		found, err := (&Client{
			RegistriesConf: []byte(test.registries), DropIns: map[string][]byte{"99-site.conf": []byte(test.dropIn)},
		}).sources(pullSpec)
		var hosts []string
		for _, source := range found {
			hosts = append(hosts, source.host())
		}
		if got := strings.Join(hosts, " "); got != test.want || (err == nil) != (test.wantErr == "") ||
			err != nil && !strings.Contains(err.Error(), test.wantErr) {
			t.Errorf("%s: %q, %v, want %q, %q", name, got, err, test.want, test.wantErr)
		}
	}
}
