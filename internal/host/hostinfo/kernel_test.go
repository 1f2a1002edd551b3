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
