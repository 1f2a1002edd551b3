// SPDX-License-Identifier: Apache-2.0

package software

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
)

func TestRHEL(t *testing.T) {
	for _, test := range []struct {
		os   hostinfo.OSRelease
		want int
	}{
		{hostinfo.OSRelease{ID: "rhel", Like: []string{"fedora"}, Version: "9.4"}, 9},
		{hostinfo.OSRelease{ID: "rhel", Version: "10.0"}, 10},
		{hostinfo.OSRelease{ID: "centos", Like: []string{"rhel", "fedora"}, Version: "9"}, 9},
		{hostinfo.OSRelease{ID: "rocky", Like: []string{"rhel", "centos", "fedora"}, Version: "8.10"}, 8},
		{hostinfo.OSRelease{ID: "fedora", Version: "44"}, 0},
		{hostinfo.OSRelease{ID: "debian", Version: "12"}, 0},
		{hostinfo.OSRelease{ID: "rhel"}, 0},
	} {
		if got := RHEL(test.os); got != test.want {
			t.Errorf("%+v: %d, want %d", test.os, got, test.want)
		}
	}
}

func TestSubscription(t *testing.T) {
	// Neither the test machine nor a cloud machine has a subscription.
	if got := detectSubscription(
		[]dnf.Repository{{ID: "rhui-rhel-9-for-x86_64-baseos-rhui-rpms", Enabled: true}},
	); got != NoSubscription {
		t.Errorf("of a cloud: %q", got)
	}
}
