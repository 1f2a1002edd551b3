// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
)

func TestCompareExtensions(t *testing.T) {
	extensions := []adapt.Extension{
		{Name: "ipsec", Packages: []string{"libreswan", "openvswitch3.5-ipsec"}},
		{Name: "kerberos", Packages: []string{"krb5-workstation", "libkadm5"}},
		{Name: "of-tomorrow"},
	}
	installed := []dnf.Package{{Name: "libreswan"}, {Name: "openvswitch3.6-ipsec"}, {Name: "libkadm5"}}
	want := []preflight.Extension{{Name: "kerberos", Packages: []string{"krb5-workstation"}}, {Name: "of-tomorrow"}}
	if diff := cmp.Diff(want, compareExtensions(extensions, installed)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
