// SPDX-License-Identifier: Apache-2.0

package bootloader

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

func TestMissing(t *testing.T) {
	huge := []string{"hugepagesz=1G hugepages=4", "hugepagesz=2M hugepages=16"}
	for name, test := range map[string]struct {
		words     string
		arguments []string
		want      string
	}{
		"nothing set":                  {"ro", []string{"psi=0", "nosmt"}, "psi=0 nosmt"},
		"all set":                      {"ro psi=0 nosmt", []string{"psi=0", "nosmt"}, ""},
		"other value":                  {"psi=1 nosmt", []string{"psi=0", "nosmt"}, "psi=0"},
		"quotation marks differ":       {"cgroup_no_v1=all", []string{`cgroup_no_v1="all"`}, ""},
		"ordered words":                {"ro nosmt", append(huge, "nosmt"), "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=16"},
		"keys shared with missing one": {"hugepagesz=1G hugepages=4", huge, "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=16"},
		"shared key comes first":       {"hugepagesz=2M hugepages=16", huge, "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=16"},
	} {
		if got := strings.Join(Missing(strings.Fields(test.words), test.arguments), " "); got != test.want {
			t.Errorf("%s: missing %q, want %q", name, got, test.want)
		}
	}
}

// recordCommand puts a command into PATH that prints output and appends its arguments to the returned
// file, one command per line.
func recordCommand(t *testing.T, name, output string) string {
	t.Helper()
	bin := t.TempDir()
	record := filepath.Join(bin, "record")
	script := "#!/bin/sh\nprintf '<%s>' \"$@\" >>" + record + "\necho >>" + record + "\ncat <<'END'\n" + output + "\nEND\n"
	if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil { //nolint:gosec // must be executable
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return record
}

// The output is that of grubby 8.40 on RHEL 9.
func TestGrubby(t *testing.T) {
	record := recordCommand(t, "grubby", `index=0
kernel="/boot/vmlinuz-5.14.0-570.el9.x86_64"
args="ro crashkernel=1G-4G:192M,4G-64G:256M rd.lvm.lv=rhel/root cgroup_no_v1="all" $tuned_params"
root="/dev/mapper/rhel-root"
title="Red Hat Enterprise Linux (5.14.0-570.el9.x86_64) 9.6 (Plow)"`)
	loader := Find(nil)
	words, err := loader.Arguments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ro", "crashkernel=1G-4G:192M,4G-64G:256M", "rd.lvm.lv=rhel/root", `cgroup_no_v1="all"`, "$tuned_params"}
	if diff := cmp.Diff(want, words); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	for _, change := range [][2][]string{{{"psi=0", "nosmt"}, {"mitigations=off"}}, {nil, {"psi=0"}}} {
		if err := loader.Change(t.Context(), change[0], change[1]); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("<--info=DEFAULT>\n"+
		"<--update-kernel=ALL><--args=psi=0 nosmt><--remove-args=mitigations=off>\n"+
		"<--update-kernel=ALL><--remove-args=psi=0>\n", string(got)); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestUpdateGrub(t *testing.T) {
	root := t.TempDir()
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	record := recordCommand(t, "update-grub", "")
	loader := &updateGrub{tree: tree}
	if words, err := loader.Arguments(t.Context()); err != nil || len(words) > 0 {
		t.Errorf("without a configuration: %q, %v", words, err)
	}
	if err := os.MkdirAll(filepath.Join(root, "boot/grub"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := "set default=0\nmenuentry 'Debian' {\n\tlinux\t/boot/vmlinuz-6.1.0 root=UUID=12 ro  quiet\n}\nlinux /boot/old single\n"
	if err := os.WriteFile(filepath.Join(root, grubConfig), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if words, err := loader.Arguments(t.Context()); err != nil || strings.Join(words, " ") != "root=UUID=12 ro quiet" {
		t.Errorf("arguments %q, %v", words, err)
	}
	change := func(add, remove []string, want string) {
		t.Helper()
		if err := loader.Change(t.Context(), add, remove); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(root, grubDefaults))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(content)); diff != "" {
			t.Errorf("after +%q -%q (-want +got):\n%s", add, remove, diff)
		}
	}
	const quoted = grubPrefix + `'a='\''b'\'''` + "\n"
	change([]string{"psi=1", "a='b'"}, nil, grubHeader+grubPrefix+"'psi=1'\n"+quoted)
	change([]string{"psi=0", "nosmt"}, nil, grubHeader+quoted+grubPrefix+"'psi=0'\n"+grubPrefix+"'nosmt'\n")
	if err := loader.Change(t.Context(), nil, []string{"quiet"}); err == nil {
		t.Error("an argument of the administrator was removed")
	}
	change(nil, []string{"psi=0", "a='b'", "nosmt"}, "")
	if left, _ := filepath.Glob(filepath.Join(root, "etc/default/*")); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	if got, _ := os.ReadFile(record); string(got) != "<>\n<>\n<>\n" {
		t.Errorf("update-grub was run as %q", got)
	}
}
