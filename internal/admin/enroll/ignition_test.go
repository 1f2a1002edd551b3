// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"os"
	"strings"
	"testing"

	"github.com/vincent-petithory/dataurl"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/site"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/resolve"
	"github.com/hcp-node-agent/hcp-node-agent/internal/rhcos"
)

// A host of RHEL CoreOS gets published user data after its first boot, so that its file is valid as long as its join
// token.
func TestEnrollIgnitionWithPublishedUserData(t *testing.T) {
	h := startHostedCluster(t)
	h.publish(t)
	withSettings := func(settings map[string]any) func(*Options) {
		return func(o *Options) {
			o.Input = HostInput{Format: Ignition, Site: &site.Config{Settings: settings}}
		}
	}
	for node, test := range map[string]struct {
		settings map[string]any
		want     string
	}{
		"worker-1": {nil, "hostSettings: reboot\n"},
		"worker-2": {map[string]any{"hostSettings": "report"}, "hostSettings: report\n"},
	} {
		if state, found := h.mustEnroll(t, node, withSettings(test.settings)); state != Created || found != "" {
			t.Fatalf("%s: %s, %s", node, state, found)
		}
		content, err := os.ReadFile(enrollment.HostPath(h.dir, node, ".ign"))
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := resolve.Parse(content)
		if err != nil || parsed.Version != "3.2.0" || len(parsed.Config.Ignition.Config.Merge) > 0 {
			t.Fatalf("%s: %v, %v", node, parsed, err)
		}
		files := map[string]string{}
		for _, file := range parsed.Config.Storage.Files {
			decoded, err := dataurl.DecodeString(*file.Contents.Source)
			if err != nil {
				t.Fatal(err)
			}
			files[file.Path] = string(decoded.Data)
		}
		token, err := enrollment.ParseToken([]byte(files[rhcos.JoinTokenPath]))
		if err != nil || token.UserData != nil || token.Cluster == nil {
			t.Errorf("%s: join token %v, %v", node, token, err)
		}
		if got := files["/etc/hcp-node-agent/config.d/10-site.yaml"]; !strings.HasSuffix(got, "\n"+test.want) {
			t.Errorf("%s: the settings are %q, want %q", node, got, test.want)
		}
	}
}
