// SPDX-License-Identifier: Apache-2.0

package bootloader

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNext(t *testing.T) {
	huge := []string{"hugepagesz=1G hugepages=4", "hugepagesz=2M hugepages=16"}
	const rhel = "root=/dev/mapper/rhel-root ro rd.lvm.lv=rhel/root rd.lvm.lv=rhel/swap console=tty0 console=ttyS0,115200"
	for name, test := range map[string]struct {
		words       string
		add, remove []string
		want        string // "" for no change
	}{
		"nothing set":            {words: "ro", add: []string{"psi=0", "nosmt"}, want: "ro psi=0 nosmt"},
		"all set":                {words: "ro nosmt psi=0", add: []string{"psi=0", "nosmt"}},
		"one value is meant":     {words: "psi=1 nosmt", add: []string{"psi=0", "nosmt"}, want: "nosmt psi=0"},
		"quotation marks differ": {words: "cgroup_no_v1=all", add: []string{`cgroup_no_v1="all"`}},
		"ordered words": {
			words: "ro nosmt", add: append(huge, "nosmt"),
			want: "ro nosmt hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=16",
		},
		"a number for each size": {
			words: "hugepagesz=1G hugepages=4 ro hugepagesz=2M hugepages=16", add: huge,
		},
		"sizes before numbers": {
			words: "hugepagesz=1G hugepagesz=2M hugepages=4 hugepages=16", add: huge,
			want: "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=16",
		},
		"the same number twice": {
			words: "ro", add: []string{"default_hugepagesz=1G", "hugepagesz=1G", "hugepages=4", "hugepagesz=2M", "hugepages=4"},
			want: "ro default_hugepagesz=1G hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=4",
		},
		"one of two equal words is set": {
			words: "default_hugepagesz=1G hugepagesz=1G hugepages=4 hugepagesz=2M",
			add:   []string{"default_hugepagesz=1G", "hugepagesz=1G", "hugepages=4", "hugepagesz=2M", "hugepages=4"},
			want:  "default_hugepagesz=1G hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=4",
		},
		"another number of pages, which the kernel would ignore": {
			words: "default_hugepagesz=1G hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=8",
			add:   []string{"default_hugepagesz=1G", "hugepagesz=1G", "hugepages=16"},
			want:  "hugepagesz=2M hugepages=8 default_hugepagesz=1G hugepagesz=1G hugepages=16",
		},
		"the sizes in another order": {words: "hugepagesz=2M hugepages=16 hugepagesz=1G hugepages=4", add: huge},
		"a number of the default size": {
			words: "hugepagesz=2M hugepages=8", add: []string{"default_hugepagesz=1G", "hugepages=8"},
			want: "hugepagesz=2M hugepages=8 default_hugepagesz=1G hugepages=8",
		},
		"other isolated CPUs, which the kernel would ignore": {
			words: "isolcpus=2-3 nohz_full=2-3", add: []string{"isolcpus=managed_irq,4-7", "nohz_full=4-7"},
			want: "isolcpus=managed_irq,4-7 nohz_full=4-7",
		},
		"a value with spaces": {
			words: `ro dyndbg="file a.c +p"`, add: []string{`dyndbg="file b.c +p" quiet`},
			want: `ro dyndbg="file a.c +p" dyndbg="file b.c +p" quiet`,
		},
		"a value with spaces, as GRUB quotes it": {words: `"dyndbg=file a.c +p"`, add: []string{`dyndbg="file a.c +p"`}},
		"the machine-config-operator's test": {
			words: "x=1", add: []string{"y=0", "z=4", "y=1", "z=4"}, want: "x=1 y=0 z=4 y=1 z=4",
		},
		"its result":  {words: "y=0 z=4 y=1 z=4", add: []string{"y=0", "z=4", "y=1", "z=4"}},
		"other order": {words: "y=1 y=0", add: []string{"y=0", "y=1"}, want: "y=1 y=0 y=0 y=1"},
		"a later value of the host": {
			words: "foo=1 foo=2", add: []string{"foo=1"}, want: "foo=1 foo=2 foo=1",
		},
		"another volume": {
			words: rhel, add: []string{"rd.lvm.lv=data/swap"}, want: rhel + " rd.lvm.lv=data/swap",
		},
		"a volume of the host": {words: rhel, add: []string{"rd.lvm.lv=rhel/root"}},
		"another console": {
			words: rhel, add: []string{"console=tty0", "console=ttyS1"},
			want: rhel + " console=tty0 console=ttyS1",
		},
		"another /dev/console": {words: rhel, add: []string{"console=tty0"}, want: rhel + " console=tty0"},
		"an address": {
			words: "ip=eth0:dhcp rd.neednet=1", add: []string{"ip=eth1:dhcp"},
			want: "ip=eth0:dhcp rd.neednet=1 ip=eth1:dhcp",
		},
		"modules": {
			words: "module_blacklist=a", add: []string{"module_blacklist=b"},
			want: "module_blacklist=a module_blacklist=b",
		},
		"a hyphen for an underscore": {words: "kvm-intel.nested=1 ro", add: []string{"kvm_intel.nested=1"}},
		"another value, with hyphens": {
			words: "transparent-hugepage=always ro", add: []string{"transparent_hugepage=never"},
			want: "ro transparent_hugepage=never",
		},
		"a later value with a hyphen": {words: "a_b=1 a-b=2", add: []string{"a_b=1"}, want: "a_b=1 a-b=2 a_b=1"},
		"removed, with a hyphen":      {words: "ro intel-iommu=on", remove: []string{"intel_iommu=on"}, want: "ro"},
		"both banks of crashkernel": {
			words: "crashkernel=1G-4G:192M,4G-64G:256M", add: []string{"crashkernel=2G,high", "crashkernel=256M,low"},
			want: "crashkernel=2G,high crashkernel=256M,low",
		},
		"removed": {words: "ro quiet a=1 quiet", remove: []string{"quiet", "absent", "a=2"}, want: "ro a=1"},
		"an argument with a missing word is not removed": {words: "a=1", remove: []string{"a=1 b=2"}},
	} {
		words := Split(test.words)
		if test.want == "" {
			test.want = test.words
		}
		next := Next(words, test.add, test.remove)
		if got := strings.Join(next, " "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if again := Next(next, test.add, test.remove); !slices.Equal(again, next) {
			t.Errorf("%s: changed again to %q", name, again)
		}
	}
}

// Both tools change a command line to the same words, also if keys repeat. What the host has remains.
// A boot loader adds words to its entry.
func TestContainInOrder(t *testing.T) {
	for line, want := range map[string]bool{
		"ro psi=0 console=tty0 console=ttyS0":              true,
		"ro console=tty0 psi=0 console=ttyS0":              false, // in another order
		"ro psi=0 console=tty0":                            false,
		"ro psi=0 console=tty0 console=ttyS0 console=hvc0": true,
		`ro "psi=0" console=tty0 quiet console=ttyS0`:      true,
	} {
		if got := ContainInOrder(Split(line), []string{"psi=0", "console=tty0 console=ttyS0"}); got != want {
			t.Errorf("%s: %t", line, got)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, test := range []struct{ from, to, grubby, kargs string }{
		{
			"ro rd.lvm.lv=a console=tty0 rd.lvm.lv=b", "ro rd.lvm.lv=a console=tty0 rd.lvm.lv=b rd.lvm.lv=c",
			"--args=rd.lvm.lv=a rd.lvm.lv=b rd.lvm.lv=c", "--append=rd.lvm.lv=c",
		},
		{
			"ro a-b=1", "ro a_b=2", "--args=a_b=2 --remove-args=a-b=1", "--delete=a-b=1 --append=a_b=2",
		},
		{"ro psi=1 nosmt", "ro psi=0", "--args=psi=0 --remove-args=nosmt", "--delete=psi=1 --delete=nosmt --append=psi=0"},
		{
			"hugepagesz=1G hugepages=4", "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=4",
			"--args=hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=4", "--append=hugepagesz=2M --append=hugepages=4",
		},
		{
			"a console=tty0 console=ttyS0 console=tty0", "a console=tty0 console=ttyS0", "--args=console=tty0 console=ttyS0",
			"--delete=console=tty0 --delete=console=ttyS0 --delete=console=tty0 --append=console=tty0 --append=console=ttyS0",
		},
		{
			"a console=tty0 quiet console=ttyS0", "a console=tty0 console=ttyS0 x", "--args=x --remove-args=quiet",
			"--delete=quiet --append=x",
		},
		{
			"default_hugepagesz=1G hugepagesz=2M hugepages=8", "default_hugepagesz=1G hugepagesz=2M hugepages=8 hugepages=1",
			"--args=default_hugepagesz=1G hugepagesz=2M hugepages=8 hugepages=1", "--append=hugepages=1",
		},
		{`a dyndbg="file b.c +p"`, "a", `--remove-args=dyndbg="file b.c +p"`, `--delete=dyndbg="file b.c +p"`},
		{"a", "a", "", ""},
	} {
		from, to := Split(test.from), Split(test.to)
		if got := strings.Join(GrubbyFlags(from, to), " "); got != test.grubby {
			t.Errorf("%s: grubby %q, want %q", test.from, got, test.grubby)
		}
		if got := strings.Join(KargsFlags(from, to), " "); got != test.kargs {
			t.Errorf("%s: rpm-ostree kargs %q, want %q", test.from, got, test.kargs)
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
	// The stand-in has lost a console of the host.
	from := append(slices.Clone(words), "console=tty0")
	err = loader.Change(t.Context(), from, append(slices.Clone(from), "console=ttyS1"))
	if err == nil || !strings.Contains(err.Error(), "might not boot") {
		t.Errorf("other arguments than requested: %v", err)
	}
	withSpaces := append(slices.Clone(words), `dyndbg="file a.c +p"`)
	err = loader.Change(t.Context(), words, withSpaces)
	if err == nil || !strings.Contains(err.Error(), "spaces: dyndbg") {
		t.Errorf("an argument with spaces: %v", err)
	}
	got, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	diff := cmp.Diff("<--info=DEFAULT>\n<--update-kernel=ALL><--args=console=tty0 console=ttyS1>\n<--info=DEFAULT>\n"+
		"<--update-kernel=ALL><--args=console=tty0>\n", string(got))
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
	to := []string{"root=UUID=0123", "rw", "console=tty0", "console=ttyS0", "psi=0"}
	if err := loader.Change(t.Context(), words, to); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	diff := cmp.Diff("<kargs>\n<kargs><--delete=psi=1><--delete=nosmt><--append=psi=0>\n", string(got))
	if diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}
