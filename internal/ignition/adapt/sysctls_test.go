// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
)

// systemd loads modules before it sets sysctls, some of which exist only then.
func TestSysctlsOfModulesAreSetAfterThem(t *testing.T) {
	file := func(path, content string) string {
		return fmt.Sprintf(`{"path":%q,"contents":%s}`, path, ignitiontest.InlineContent(content))
	}
	sysctl := file("/etc/sysctl.d/a.conf", "kernel.absent=1\n")
	for files, want := range map[string]string{
		sysctl: "",
		// RHEL reads /etc/sysctl.conf as 99-sysctl.conf.
		file("/etc/sysctl.conf", "vm.swappiness=1\n-vm.max_map_count = 2\n") + "," +
			file("/etc/sysctl.d/99-a.conf", "vm.swappiness=3\n") + "," +
			file("/etc/sysctl.d/99-z.conf", "vm/max_map_count=4\n"): "sysctl vm.swappiness=1, sysctl vm.max_map_count=4",
		sysctl + "," + file("/etc/modules-load.d/z.conf", "nf_conntrack\n"):  "module nf_conntrack, sysctl kernel.absent=1",
		sysctl + "," + file("/etc/modules-load.d/z.conf", "absent_module\n"): "",
	} {
		plan := adaptConfig(t, `{"ignition":{"version":"3.4.0"},"storage":{"files":[`+files+`]}}`, nil)
		var got []string
		for _, change := range plan.Changes() {
			if change.Kind == ledger.Module || change.Kind == ledger.Sysctl {
				got = append(got, strings.TrimSuffix(string(change.Kind)+" "+change.Target+"="+change.Desired.Value, "="))
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %v, want %q", files, got, want)
		}
	}
}
