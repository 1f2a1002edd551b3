// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChangedEntries(t *testing.T) {
	load := func(storage, systemd string) *Payload {
		t.Helper()
		payload, err := LoadPayload(fmt.Appendf(nil,
			`{"ignition":{"version":"3.2.0"},"storage":%s,"systemd":%s,"passwd":{"users":[{"name":"core"}]}}`, storage, systemd))
		if err != nil {
			t.Fatal(err)
		}
		return payload
	}
	a := load(`{"files":[
		{"path":"/etc/same","mode":420,"contents":{"source":"data:,same"}},
		{"path":"/etc/content","contents":{"source":"data:,a"}},
		{"path":"/etc/mode","mode":420,"contents":{"source":"data:,a"}},
		{"path":"/etc/removed","contents":{"source":"data:,a"}}]}`, `{"units":[{"name":"a.service","contents":"[Unit]"}]}`)
	b := load(`{"files":[
		{"path":"/etc/same","contents":{"source":"data:;base64,c2FtZQ=="}},
		{"path":"/etc/content","contents":{"source":"data:,b"}},
		{"path":"/etc/mode","mode":384,"contents":{"source":"data:,a"}},
		{"path":"/etc/added","contents":{"source":"data:,a"}}]}`,
		`{"units":[{"name":"a.service","contents":"[Unit]","enabled":true}]}`)
	for _, pair := range [][2]*Payload{{a, b}, {b, a}} {
		got := ChangedEntries(pair[0], pair[1])
		if diff := cmp.Diff([]string{"/etc/added", "/etc/content", "/etc/mode", "/etc/removed", "a.service"},
			got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if got := ChangedEntries(a, a); len(got) > 0 {
		t.Errorf("of equal payloads: %v", got)
	}
}
