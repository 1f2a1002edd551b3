// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseOptions(t *testing.T) {
	long := strings.Repeat("x", 4096)
	got := ParseOptions(`# a comment \
[Service]
; another one
ExecStart=/usr/bin/kubelet \
  --config=/etc/kubernetes/kubelet.conf \
  # --v=4 \
  --node-ip=192.0.2.17
no setting
 Environment = A=1 #2
Environment=` + long + `
Environment=

[Install]
WantedBy=multi-user.target \`)
	want := []Option{
		{"Service", "ExecStart", "/usr/bin/kubelet \\\n  --config=/etc/kubernetes/kubelet.conf \\\n  --node-ip=192.0.2.17"},
		{"Service", "Environment", "A=1 #2"},
		{"Service", "Environment", long},
		{"Service", "Environment", ""},
		{"Install", "WantedBy", "multi-user.target \\"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}
