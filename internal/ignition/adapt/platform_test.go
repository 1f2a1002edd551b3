// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// A payload of another platform is rejected as a whole, with the evidence.
func TestPayloadOfAnotherPlatformIsRejected(t *testing.T) {
	kubelet := func(lines string) string {
		return fmt.Sprintf(`{"name":"kubelet.service","enabled":true,"contents":%q}`,
			"[Service]\n"+lines+"[Install]\nWantedBy=multi-user.target\n")
	}
	nodename := `{"name":"aws-kubelet-nodename.service","enabled":true,"contents":"[Service]\nExecStart=/usr/local/bin/aws-kubelet-nodename\n"}`
	upi := `{"name":"nodeip-configuration-vsphere-upi.service","enabled":true,"contents":"[Service]\nExecStart=/bin/true\n"}`
	for name, test := range map[string]struct {
		units      string
		standalone bool
		drop       []string
		want       string
	}{
		"None": {
			kubelet("ExecStart=/usr/bin/kubelet --cloud-provider= --v=2\nEnvironmentFile=-/etc/kubernetes/node.env\n"), false,
			nil, "",
		},
		"AWS": {
			kubelet("EnvironmentFile=/etc/kubernetes/node.env\n") + "," + nodename, false, nil,
			"platform AWS, whose units and kubelet settings do not work on this host: it contains " +
				"aws-kubelet-nodename.service and kubelet.service with EnvironmentFile=/etc/kubernetes/node.env",
		},
		"AWS, its units dropped":          {kubelet("") + "," + nodename, false, []string{"aws-*"}, ""},
		"vSphere of a standalone cluster": {kubelet("") + "," + upi, true, nil, "platform vSphere, "},
		"a cloud provider": {
			kubelet("ExecStart=/usr/bin/kubelet --cloud-provider=external \\\n --v=2\n"), false, nil,
			"a platform other than None, whose",
		},
		"a cloud provider, standalone": {
			kubelet("ExecStart=/usr/bin/kubelet --cloud-provider=external\n"), true, nil, "",
		},
		"a unit of the NodePool's own MCs": {
			kubelet("") + `,{"name":"aws-backup.service","enabled":true,"contents":"[Service]\nExecStart=/bin/true\n"}`, false,
			nil, "",
		},
		"a drop-in of kubelet that is left": {
			`{"name":"kubelet.service","contents":"[Service]\n","dropins":[{"name":"20-node-env.conf","contents":"[Service]\nEnvironmentFile=/etc/kubernetes/node.env\n"}]}`, false, []string{"kubelet.service/20-*"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := ignition.LoadPayload([]byte(systemdConfig(test.units)))
			if err != nil {
				t.Fatal(err)
			}
			in := plainHost()
			in.Hosted, in.Exclude = !test.standalone, test.drop
			plan, err := ToHost(p, in)
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			reporttest.CheckFailure(t, err, report.Refused, test.want)
			if plan != nil || !strings.Contains(string(report.RemedyOf(err)), "\noc get ") {
				t.Errorf("plan %v, remedy %q", plan, report.RemedyOf(err))
			}
			in.Facts.OSTree, in.Facts.OS.Variant = true, "coreos"
			if _, err := ToHost(p, in); err != nil {
				t.Errorf("on an image-mode host, which is only looked at: %v", err)
			}
		})
	}
}
