// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"slices"
	"testing"
)

func TestUnsupportedFlags(t *testing.T) {
	const of421 = "[Service]\nExecStart=/usr/local/bin/kubenswrapper /usr/bin/kubelet --v=2 \\\n" +
		"  --pod-infra-container-image=registry.example.com/pause@sha256:0a1b\n"
	const of422 = "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf\n"
	const flag = "--pod-infra-container-image"
	for name, test := range map[string]struct {
		unit, dropIn string
		minor        int
		want         []string
	}{
		"no unit":                        {"", "", 35, nil},
		"last version with the flag":     {of421, "", 34, nil},
		"first version without the flag": {of421, "", 35, []string{flag}},
		"later version":                  {of421, "", 37, []string{flag}},
		"unknown version":                {of421, "", 0, nil},
		"unit without the flag":          {of422, "", 35, nil},
		"drop-in without the flag":       {of421, of422, 35, nil},
		"drop-in with the flag": {
			of422, "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet " + flag + " pause\n", 36, []string{flag},
		},
	} {
		files := UnitFiles{Unit: test.unit, DropIns: map[string]string{"50-demo.conf": test.dropIn}}
		if got, err := files.UnsupportedFlags(test.minor); !slices.Equal(got, test.want) || err != nil {
			t.Errorf("%s: %q, %v; want %q", name, got, err, test.want)
		}
	}
}
