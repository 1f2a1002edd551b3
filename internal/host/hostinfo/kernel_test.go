// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"os"
	"path/filepath"
	"testing"
)

func TestIsModuleDisabled(t *testing.T) {
	config := t.TempDir()
	const rules = "install overlay /bin/false\ninstall udf /usr/bin/true\ninstall cramfs false\nblacklist geneve\n" +
		"install sctp /sbin/modprobe --ignore-install sctp && /bin/true\n"
	if err := os.WriteFile(filepath.Join(config, "hardening.conf"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MODPROBE_OPTIONS", "--config "+config)
	for name, want := range map[string]bool{
		"overlay": true, "udf": true, "cramfs": true, "geneve": false, "sctp": false, "no_such_module": false,
	} {
		if got := IsModuleDisabled(t.Context(), name); got != want {
			t.Errorf("IsModuleDisabled(%s) = %t with\n%s", name, got, rules)
		}
	}
}

func TestIsLastLoaded(t *testing.T) {
	listed := func(name string) bool { return name == "nf_conntrack" }
	const conntrack = "insmod /lib/modules/6.12.0/kernel/lib/libcrc32c.ko.xz \n" +
		"insmod /lib/modules/6.12.0/kernel/net/netfilter/nf_conntrack.ko.xz hashsize=4096\n"
	for depends, want := range map[string]bool{
		"builtin configfs\n": true,
		conntrack:            true, // of the alias ip_conntrack
		conntrack + "insmod /lib/modules/6.12.0/kernel/net/netfilter/nf_nat.ko.xz \n": false,
		"builtin libcrc32c\ninsmod /lib/modules/6.1.0/kernel/net/sctp/sctp.ko \n":     false,
		"install /bin/false \n": false,
		"":                      false,
	} {
		if got := isLastLoaded(depends, listed); got != want {
			t.Errorf("isLastLoaded = %t with\n%s", got, depends)
		}
	}
}
