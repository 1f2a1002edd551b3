// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

func TestIsMounted(t *testing.T) {
	const mountinfo = `27 1 252:4 /ostree/deploy/rhcos/deploy/1234.0 / rw,relatime shared:1 - xfs /dev/vda4 rw
30 27 252:4 /ostree/deploy/rhcos/var /var rw,relatime shared:2 - xfs /dev/vda4 rw
31 30 252:5 / /var/lib/containers rw,relatime shared:3 - xfs /dev/vda5 rw,prjquota
32 30 252:6 / /var/with\040space rw,relatime shared:4 - xfs /dev/vda6 rw
`
	for path, want := range map[string]bool{"/var": false, "/var/lib/containers": true, "/var/lib": false, "/var/with space": true} {
		if got := isMounted(hostfs.ParseMounts(mountinfo), path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}
