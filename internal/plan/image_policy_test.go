// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
)

// Software of an OS image runs as root, like a container that CRI-O would refuse to pull.
func TestSoftwareOfRejectedImageIsRefused(t *testing.T) {
	const accept, reject = `{"default":[{"type":"insecureAcceptAnything"}]}`, `{"default":[{"type":"reject"}]}`
	for name, test := range map[string]struct {
		ofPayload, ofHost, software string
		refused                     bool
	}{
		"no policy":                  {},
		"payload accepts":            {ofPayload: accept, ofHost: reject},
		"payload rejects":            {ofPayload: reject, ofHost: accept, refused: true},
		"host rejects":               {ofHost: reject, refused: true},
		"software from repositories": {ofPayload: reject, software: config.SoftwareRPM},
	} {
		t.Run(name, func(t *testing.T) {
			payload := map[string]string{
				ignition.MachineConfigPath: fmt.Sprintf(
					`{"spec":{"osImageURL":"registry.example.com/os@sha256:%s"}}`, strings.Repeat("a", 64),
				),
			}
			host := map[string]string{}
			if test.ofPayload != "" {
				payload[osimage.PolicyPath] = test.ofPayload
			}
			if test.ofHost != "" {
				host[osimage.PolicyPath] = test.ofHost
			}
			t.Setenv("PATH", t.TempDir()) // a host without kubelet, CRI-O and dnf
			s := softwareOf(t, payload, host)
			book, err := ledger.Open(t.TempDir(), ledger.Drivers{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { book.Close() })
			s.session.Host.Ledger, s.session.Run.Config.Software = book, test.software
			s.Contents = &software.Contents{
				Release:  software.Release{Major: 4, Minor: 19},
				Packages: map[string]string{"openshift-kubelet": "4.19.1-1.el9", "cri-o": "1.32.4-1.el9"},
			}
			decision, err := s.Decide(t.Context(), nil, kube.Version{})
			if (err != nil) != test.refused || err != nil && report.CodeOf(err) != report.Refused {
				t.Errorf("Decide() = %v for packages %q", err, decision.Unpack)
			}
			if want := test.software == ""; (len(decision.Unpack) > 0) != want {
				t.Errorf("packages of the image %q", decision.Unpack)
			}
		})
	}
}
