// SPDX-License-Identifier: Apache-2.0

package dnf

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// writeDNF writes a command dnf, which is a link to a file with a name, into the only directory of PATH.
func writeDNF(t *testing.T, name string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // is executed
		t.Fatal(err)
	}
	if err := os.Symlink(name, filepath.Join(dir, "dnf")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
}

func TestIsDNF5(t *testing.T) {
	for name, want := range map[string]bool{"dnf5": true, "dnf-3": false} {
		writeDNF(t, name)
		if IsDNF5() != want {
			t.Errorf("%s is dnf5: %t", name, !want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if IsDNF5() {
		t.Error("dnf5 is installed")
	}
}

// The output is that of dnf5 5.4.6.
func TestParseHistory5(t *testing.T) {
	for out, want := range map[string][]string{
		"[]\n": nil,
		`[{"id":12,"command_line":"dnf5 install cri-o","user_id":0,"status":"Ok","altered_count":1},{"id":11}]`: {"12", "11"},
	} {
		if got, err := parseHistory5(out); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %q, %v", out, got, err)
		}
	}
	got, err := parseTransaction5("12", `[{"id":12,"status":"Ok","comment":"hcp-node-agent join","packages":[
  {"nevra":"NetworkManager-ovs-1:1.48.10-2.el9.x86_64","action":"Install","reason":"User","repository":"appstream"},
  {"nevra":"glibc-0:2.34-100.el9.x86_64","action":"Upgrade","reason":"Weak Dependency","repository":"baseos"},
  {"nevra":"glibc-0:2.34-99.el9.x86_64","action":"Replaced","reason":"User","repository":"@System"},
  {"nevra":"runc-4:1.1.12-1.el9.x86_64","action":"Remove","reason":"User","repository":"@System"}],"groups":[]}]`)
	want := Transaction{
		ID: "12", Comment: "hcp-node-agent join",
		Installed: []Package{{"NetworkManager-ovs", "1.48.10", "2.el9", "x86_64", ""}},
		Replacing: []Package{{"glibc", "2.34", "100.el9", "x86_64", ""}},
		Removed:   []Package{{"runc", "1.1.12", "1.el9", "x86_64", ""}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := parseHistory5("No transactions\n"); err == nil {
		t.Error("text was parsed as JSON")
	}
}

func TestParseUpdates5(t *testing.T) {
	got := parseUpdates(`Package              Arch   Version                    Repository      Size
Upgrading:
 NetworkManager      x86_64 1:1.52.0-3.el9             baseos       2.3 MiB
   replacing NetworkManager x86_64 1:1.48.0-1.el9     baseos       2.2 MiB
Installing:
 crun                noarch 0:1-1                      site         0.0   B
   replacing runc    noarch 0:1-1                      site         0.0   B
Installing dependencies:
 grubby              x86_64 0:8.40-64.el9              baseos      36.0 KiB
Removing:
 kernel-core         x86_64 0:5.14.0-427.el9           baseos      61.0 MiB

Transaction Summary:
 Installing:         2 packages
`)
	want := []Package{
		{"NetworkManager", "1.52.0", "3.el9", "x86_64", "baseos"},
		{"crun", "1", "1", "noarch", "site"},
		{"grubby", "8.40", "64.el9", "x86_64", "baseos"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// dnf5 prints its progress to standard error, before its messages.
func TestExplainOmitsProgress(t *testing.T) {
	err := explain(&command.Error{Code: 1}, `Updating and loading repositories:
 site                                   100% | 204.3 KiB/s |   3.9 KiB |  00m00s
 other                                  ???% |   0.0   B/s |  -1.0   B |  ?
Repositories loaded.
Total size of inbound packages is 22 KiB. Need to download 22 KiB.
After this operation, 0 B extra will be used (install 0 B, remove 0 B).
[1/4] bash-0:5.1.8-6.el9.noarch         100% |   1.8 MiB/s |   5.4 KiB |  00m00s
--------------------------------------------------------------------------------
Running transaction
Transaction failed: Signature verification failed.
`, "")
	if got := err.Error(); got != "dnf: Transaction failed: Signature verification failed." {
		t.Error(got)
	}
}
