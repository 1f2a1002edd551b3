// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
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

// What the first boot of RHEL CoreOS layers onto its image is missing in each image that the agent boots: this is
// refused before the image is staged.
func TestExtensionsOfRHCOS(t *testing.T) {
	coreOS := hostinfo.Facts{OSTree: true, OS: hostinfo.OSRelease{Variant: "coreos"}, Kernel: "5.14.0-570.el9_6.x86_64"}
	realtime := coreOS
	realtime.Kernel += "+rt"
	bootc := hostinfo.Facts{OSTree: true, Kernel: realtime.Kernel}
	rollback := &joinstate.Upgrade{RollingBack: "kubelet failed"}
	ipsec := []adapt.Extension{{Name: "ipsec", Packages: []string{"libreswan"}}}
	for name, test := range map[string]struct {
		host       hostinfo.Facts
		kernelType string
		extensions []adapt.Extension
		installed  string
		image      *ImageUpdate
		upgrade    *joinstate.Upgrade
		firstBoot  bool
		want       []string // parts of the messages
	}{
		"neither":                     {host: coreOS, image: &ImageUpdate{}, kernelType: "default"},
		"installed by the first boot": {host: realtime, extensions: ipsec, kernelType: "realtime", installed: "libreswan"},
		"added by a later payload":    {host: coreOS, extensions: ipsec, want: []string{"ipsec, which is not installed"}},
		"kernel of a later payload":   {host: coreOS, kernelType: "realtime", want: []string{"realtime, which is not"}},
		"first boot":                  {host: coreOS, extensions: ipsec, kernelType: "realtime", firstBoot: true},
		"back to the former payload": {
			host: coreOS, extensions: ipsec, image: &ImageUpdate{InRollback: true}, upgrade: rollback,
		},
		"RHEL bootc, own image":        {host: bootc, extensions: ipsec, want: []string{"packages are not installed: libreswan"}},
		"RHEL bootc, with the package": {host: bootc, extensions: ipsec, installed: "libreswan", kernelType: "realtime"},
		"RHEL bootc, switched to the image": {
			host: bootc, extensions: ipsec, installed: "libreswan", kernelType: "realtime", image: &ImageUpdate{},
			want: []string{"realtime, which would be missing", "ipsec, which would be missing"},
		},
		"another image": {
			host: realtime, extensions: ipsec, installed: "libreswan", kernelType: "realtime", image: &ImageUpdate{},
			want: []string{"realtime, which would be missing", "ipsec, which would be missing"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			rpm := fmt.Sprintf("#!/bin/sh\nprintf '%s|1|1|x86_64|1700000000\\n'\n", test.installed)
			if err := os.WriteFile(filepath.Join(bin, "rpm"), []byte(rpm), 0o700); err != nil { //nolint:gosec // is executed
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+":/usr/bin:/bin")
			files := map[string]string{}
			if test.firstBoot {
				files[ignition.MachineConfigPath] = "{}"
			}
			s, p := plannedSession(t, files)
			s.Host.Facts, s.Run.State.Upgrade = test.host, test.upgrade
			payload, err := ignition.LoadPayload([]byte(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"` +
				ignition.MachineConfigPath + `","contents":` + ignitiontest.InlineContent(
				`{"metadata":{"name":"r"},"spec":{"kernelType":"`+test.kernelType+`"}}`) + `}]}}`))
			if err != nil {
				t.Fatal(err)
			}
			p.Image, p.Extensions = test.image, test.extensions
			facts := preflight.PayloadFacts{Host: test.host}
			if err := s.addExtensionFacts(t.Context(), payload, p, &facts); err != nil {
				t.Fatal(err)
			}
			result := preflight.Run(preflight.PayloadChecks(), facts).ForClass(test.host.Class())
			if len(result.Findings) != len(test.want) {
				t.Fatalf("findings %v, want %q", result.Findings, test.want)
			}
			for i, found := range result.Findings {
				if !found.RefusesJoin || !strings.Contains(found.Message, test.want[i]) || found.Remedy == "" {
					t.Errorf("finding %+v, want %q", found, test.want[i])
				}
			}
		})
	}
}
