// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
)

func TestConnectionTargets(t *testing.T) {
	const digest = "@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	crioConf := func(image string) string { return "[crio.image]\npause_image = \"" + image + "\"\n" }
	payload := map[string]string{
		ignition.BootstrapKubeconfigPath:   "the kubeconfig",
		ignition.MachineConfigPath:         `{"spec":{"osImageURL":"quay.io/a/os` + digest + `"}}`,
		"/etc/crio/crio.conf.d/00-default": crioConf("quay.io/a/pause" + digest),
	}
	mirrored := map[string]string{
		ignition.MachineConfigPath:         payload[ignition.MachineConfigPath],
		"/etc/crio/crio.conf.d/00-default": crioConf("mirror.example.com:5000/a/pause" + digest),
	}
	tagged := map[string]string{"/etc/crio/crio.conf.d/00-default": crioConf("quay.io/a/pause:latest")}
	const unknown, konnectivity = "the API server and the registries: unchecked", "the konnectivity server: unchecked"
	for name, test := range map[string]struct {
		payload     map[string]string
		hasUserData bool
		standalone  bool
		peers       []string
		want        []string
	}{
		"nothing":        {standalone: true},
		"user data only": {hasUserData: true, want: []string{unknown, konnectivity}},
		"standalone":     {hasUserData: true, standalone: true, want: []string{unknown}},
		"konnectivity given": {
			hasUserData: true, peers: []string{"konnectivity.example.com:443"},
			want: []string{unknown, "konnectivity.example.com:443: checked, refuses the join"},
		},
		"payload": {
			payload: payload, hasUserData: true,
			want: []string{"the API server: checked, refuses the join", "registry quay.io: checked", konnectivity},
		},
		"two registries, bootstrap kubeconfig removed": {
			payload: mirrored,
			want:    []string{"registry quay.io: checked", "registry mirror.example.com:5000: checked", konnectivity},
		},
		"image without a digest": {payload: tagged, want: []string{konnectivity}},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := hostfs.OpenTree(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer tree.Close()
			s := &plan.Session{Host: machine.Reader{Files: tree}, Run: &plan.Run{
				Request: request.Request{Config: config.Join{RequiredEndpoints: test.peers}},
				State:   joinstate.State{Hosted: !test.standalone},
			}}
			if test.hasUserData {
				s.Run.UserData = &ignition.UserData{}
			}
			var got []string
			for _, target := range connectionTargets(s, payloadOf(t, test.payload)) {
				text := target.Name + ": unchecked"
				if target.connect != nil {
					text = target.Name + ": checked"
				}
				if target.RefusesJoin {
					text += ", refuses the join"
				}
				if (target.Unchecked == "") != (target.connect != nil) {
					t.Errorf("%s: Unchecked is %q", text, target.Unchecked)
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// payloadOf returns a payload with files, nil for nil.
func payloadOf(t *testing.T, content map[string]string) *ignition.Payload {
	t.Helper()
	if content == nil {
		return nil
	}
	var files []string
	for name, text := range content {
		files = append(files, fmt.Sprintf(`{"path":%q,"contents":%s}`, name, ignitiontest.InlineContent(text)))
	}
	payload, err := ignition.LoadPayload(fmt.Appendf(nil, `{"ignition":{"version":"3.2.0"},"storage":{"files":[%s]}}`,
		strings.Join(files, ",")))
	if err != nil {
		t.Fatal(err)
	}
	return payload
}
