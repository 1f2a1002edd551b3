// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// What is installed remains unless a flag names the change.
func TestSettingsAreKept(t *testing.T) {
	publishing := Settings{In: cluster.Management, Image: "old", Replicas: 3, Publish: true}
	hosted := Settings{In: cluster.Hosted, Image: "old", Replicas: 2}
	none := Settings{}
	for name, test := range map[string]struct {
		installed Settings
		flags     Settings // those that are given
		set       string
		want      Settings
		err       string
	}{
		"nothing": {publishing, none, "", publishing, ""},
		"the image": {
			publishing,
			Settings{Image: "new"},
			"image",
			Settings{In: cluster.Management, Image: "new", Replicas: 3, Publish: true},
			"",
		},
		"no publication": {
			publishing, none, "publish", Settings{In: cluster.Management, Image: "old", Replicas: 3}, "",
		},
		"replicas": {
			hosted,
			Settings{Replicas: 1},
			"replicas",
			Settings{In: cluster.Hosted, Image: "old", Replicas: 1},
			"",
		},
		"the cluster": {
			publishing,
			Settings{In: cluster.Hosted},
			"in",
			Settings{In: cluster.Hosted, Image: "old", Replicas: 3},
			"",
		},
		"publication in the hosted cluster": {
			hosted, Settings{Publish: true}, "publish", none, "--publish requires --in management",
		},
		"new": {
			none,
			Settings{Image: "new"},
			"image",
			Settings{In: cluster.Management, Image: "new", Replicas: 2},
			"",
		},
		"new, without an image": {none, none, "", none, "--image is required"},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.flags
			s.In, s.Replicas = cmp.Or(s.In, cluster.Management), cmp.Or(s.Replicas, 2)
			s.Namespace = v1alpha1.Namespace
			err := s.keep(test.installed, func(flag string) bool { return flag == test.set })
			if test.err != "" {
				if report.CodeOf(err) != report.Usage || !strings.HasPrefix(err.Error(), test.err) {
					t.Errorf("%v", err)
				}
				return
			}
			test.want.Namespace = v1alpha1.Namespace
			if err != nil || s != test.want {
				t.Errorf("got %+v, %v, want %+v", s, err, test.want)
			}
		})
	}
}
