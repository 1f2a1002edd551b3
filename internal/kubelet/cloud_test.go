// SPDX-License-Identifier: Apache-2.0

package kubelet

import "testing"

func TestCloudFlags(t *testing.T) {
	const external = "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet --cloud-provider external " +
		"--provider-id=${KUBELET_PROVIDERID}\n"
	const none = "[Service]\nEnvironmentFile=-/etc/kubernetes/node.env\n" +
		"ExecStart=/usr/bin/kubelet --cloud-provider= --provider-id=${KUBELET_PROVIDERID}\n"
	for name, test := range map[string]struct {
		unit, dropIn, env string
		provider, id      string
	}{
		"no unit":                    {"", "", "", "", ""},
		"platform None":              {none, "", "", "", ""},
		"external":                   {external, "", "", "external", ""},
		"a drop-in":                  {none, external, "", "external", ""},
		"a drop-in and an ID":        {none, external, "KUBELET_PROVIDERID=nutanix://0a1b\n", "external", "nutanix://0a1b"},
		"an ID without any provider": {none, "", "KUBELET_PROVIDERID=nutanix://0a1b\n", "", "nutanix://0a1b"},
	} {
		files := UnitFiles{Unit: test.unit, DropIns: map[string]string{"50-cloud.conf": test.dropIn}}
		files.File = func(path string) ([]byte, bool) { return []byte(test.env), path == "/etc/kubernetes/node.env" }
		if provider, id, err := files.CloudFlags(); provider != test.provider || id != test.id || err != nil {
			t.Errorf("%s: %q, %q, %v; want %q, %q", name, provider, id, err, test.provider, test.id)
		}
	}
}
