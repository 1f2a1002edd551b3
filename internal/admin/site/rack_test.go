// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// A machine finds its entry by its serial number or one of its addresses, and gets no other join token. On a machine
// without an entry, no program is run.
func TestForAll(t *testing.T) {
	c := readExample(t)
	hosts := []Host{
		{Name: "worker-1", IDs: []string{"ABC-1"}, Token: []byte("token 1\n")},
		{Name: "worker-2", IDs: []string{"192.0.2.2", "2001:db8::2"}, Token: []byte("token 2\n")},
		{Name: "worker-3", IDs: []string{"192.0.2.22"}, Token: []byte("token 3\n")},
	}
	script, err := c.ScriptForAll(hosts)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ serial, addresses, want string }{
		{"ABC-1", "192.0.2.2 ", "1"},
		{"ABC-1", "", "1"},
		{"To be filled by O.E.M.", "192.0.2.9 2001:db8::2 ", "2"},
		{"", "192.0.2.22 ", "3"},
		{"ABC-11", "192.0.2.20 192.0.2.222 ", ""},
		{"", "", ""},
	} {
		text := strings.NewReplacer("$(cat /sys/class/dmi/id/product_serial 2>/dev/null || :)", test.serial,
			"$(hostname -I)", test.addresses).Replace(string(script))
		dir, calls, err := runScript(t, text, "")
		if test.want == "" {
			if _, statErr := os.Stat(dir + "/etc/hcp-node-agent/node.token"); err == nil || statErr == nil || calls != nil {
				t.Errorf("%+v: %v, %v, calls %q", test, err, statErr, calls)
			}
			continue
		}
		token, tokenErr := os.ReadFile(dir + "/etc/hcp-node-agent/node.token")
		name, nameErr := os.ReadFile(dir + "/etc/hostname")
		if err != nil || tokenErr != nil || nameErr != nil || string(token) != "token "+test.want+"\n" ||
			string(name) != "worker-"+test.want+"\n" || !slices.Contains(calls, "hostname worker-"+test.want) ||
			!slices.Contains(calls, "dnf -y install hcp-node-agent") {
			t.Errorf("%+v: token %q, name %q, calls %q, %v", test, token, name, calls, err)
		}
	}
	section, err := c.KickstartForAll(hosts)
	body := strings.TrimSuffix(strings.TrimPrefix(string(section), "%post --erroronfail\n"), "%end\n")
	if err != nil || fmt.Sprint("#!/bin/sh\n", body) != string(script) || strings.Contains(body, "\n%") {
		t.Errorf("the section differs from the script: %v\n%s", err, section)
	}
}
