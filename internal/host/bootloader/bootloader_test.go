// SPDX-License-Identifier: Apache-2.0

package bootloader

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMissing(t *testing.T) {
	huge := []string{"hugepagesz=1G hugepages=4", "hugepagesz=2M hugepages=16"}
	for name, test := range map[string]struct {
		words     string
		arguments []string
		want      string
	}{
		"nothing set":            {"ro", []string{"psi=0", "nosmt"}, "psi=0 nosmt"},
		"all set":                {"ro psi=0 nosmt", []string{"psi=0", "nosmt"}, ""},
		"other value":            {"psi=1 nosmt", []string{"psi=0", "nosmt"}, "psi=0"},
		"quotation marks differ": {"cgroup_no_v1=all", []string{`cgroup_no_v1="all"`}, ""},
		"ordered words": {
			"ro nosmt", append(huge, "nosmt"), "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=16",
		},
		"keys shared with missing one": {
			"hugepagesz=1G hugepages=4", huge, "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=16",
		},
		"shared key comes first": {
			"hugepagesz=2M hugepages=16", huge, "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=16",
		},
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
	err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700) //nolint:gosec // must be executable
	if err != nil {
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
	loader := Find(false)
	words, err := loader.Arguments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ro", "crashkernel=1G-4G:192M,4G-64G:256M", "rd.lvm.lv=rhel/root", `cgroup_no_v1="all"`, "$tuned_params",
	}
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
	diff := cmp.Diff("<--info=DEFAULT>\n"+
		"<--update-kernel=ALL><--args=psi=0 nosmt><--remove-args=mitigations=off>\n"+
		"<--update-kernel=ALL><--remove-args=psi=0>\n", string(got))
	if diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

// The output is that of rpm-ostree 2024.7 on RHEL 9.
func TestRPMOSTree(t *testing.T) {
	record := recordCommand(t, "rpm-ostree", "root=UUID=0123 rw console=tty0 console=ttyS0 psi=1 nosmt")
	loader := Find(true)
	words, err := loader.Arguments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"root=UUID=0123", "rw", "console=tty0", "console=ttyS0", "psi=1", "nosmt"}
	if diff := cmp.Diff(want, words); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if err := loader.Change(t.Context(), []string{"psi=0", "hugepages=4"}, []string{"nosmt"}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	diff := cmp.Diff("<kargs>\n<kargs>\n"+
		"<kargs><--delete-if-present=nosmt><--delete-if-present=psi=1><--append-if-missing=psi=0>"+
		"<--append-if-missing=hugepages=4>\n", string(got))
	if diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}
