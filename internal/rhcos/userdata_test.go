// SPDX-License-Identifier: Apache-2.0

package rhcos

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vincent-petithory/dataurl"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/resolve"
	"github.com/hcp-node-agent/hcp-node-agent/systemd"
)

// poolUserData is user data as HyperShift writes it, with the settings for a proxy and two empty sections.
const poolUserData = `{"ignition":{"config":{"merge":[{"httpHeaders":[{"name":"Authorization","value":"Bearer YQ=="},` +
	`{"name":"NodePool","value":"clusters/a&b"}],"source":"https://ignition.example.com/ignition"}]},` +
	`"proxy":{"httpsProxy":"https://proxy.example.com:3128","noProxy":["192.0.2.0/24"]},` +
	`"security":{"tls":{"certificateAuthorities":[{"source":"data:;base64,Y2E="}]}},"version":"3.2.0"},` +
	`"passwd":{},"storage":{},"systemd":{}}`

const nodeFile = "kind: JoinToken\nnodeName: worker-7\n"

func newBinary() *Binary {
	return &Binary{URL: "https://files.example.com/hcp-node-agent?a=1&b=2", SHA512: strings.Repeat("0a", 64)}
}

func mustRender(t *testing.T, agent *Binary) []byte {
	t.Helper()
	rendered, err := UserData([]byte(poolUserData), []byte(nodeFile), nil, agent)
	if err != nil {
		t.Fatal(err)
	}
	return rendered
}

func TestUserData(t *testing.T) {
	for file, agent := range map[string]*Binary{"with-binary.ign": newBinary(), "in-image.ign": nil} {
		golden := filepath.Join("testdata", file)
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		// The golden file names the unit's content, which has its own test.
		content, err := json.Marshal(AgentService())
		if err != nil {
			t.Fatal(err)
		}
		wanted := strings.Replace(string(want), `"CONTENT OF THE UNIT"`, string(content), 1)
		var expected, got any
		if err := json.Unmarshal([]byte(wanted), &expected); err != nil {
			t.Fatalf("%s: %v", golden, err)
		}
		if err := json.Unmarshal(mustRender(t, agent), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(expected, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", golden, diff)
		}
	}
}

// The section "ignition" has the credentials and the CAs, and must not be changed by encoding it again.
func TestUserDataKeepsTheSectionOfIgnition(t *testing.T) {
	section, _, _ := strings.Cut(poolUserData, `,"passwd"`)
	for _, agent := range []*Binary{nil, newBinary()} {
		if got := mustRender(t, agent); !strings.HasPrefix(string(got), section+",") {
			t.Errorf("the result does not begin with\n%s\nbut is\n%s", section, got)
		}
	}
}

func TestUserDataIsValidForIgnition(t *testing.T) {
	for _, version := range []string{"3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0", "3.6.0"} {
		for _, agent := range []*Binary{nil, newBinary()} {
			rendered := strings.Replace(string(mustRender(t, agent)), `"3.2.0"`, `"`+version+`"`, 1)
			parsed, err := resolve.Parse([]byte(rendered))
			if err != nil || len(parsed.Warnings) > 0 || parsed.Version != version {
				t.Errorf("%s, binary %t: %v, %v", version, agent != nil, parsed, err)
				continue
			}
			config := parsed.Config
			token, err := dataurl.DecodeString(*config.Storage.Files[0].Contents.Source)
			if err != nil || string(token.Data) != nodeFile {
				t.Errorf("%s: the join token is %v, %v", version, token, err)
			}
		}
	}
}

// A host must not need the token of the ignition server, which expires, but the proxy and the CAs.
func TestWithoutPayload(t *testing.T) {
	const want = `{"ignition":{"proxy":{"httpsProxy":"https://proxy.example.com:3128","noProxy":["192.0.2.0/24"]},` +
		`"security":{"tls":{"certificateAuthorities":[{"source":"data:;base64,Y2E="}]}},"version":"3.2.0"}}`
	got, err := WithoutPayload([]byte(poolUserData))
	if strings.TrimSpace(string(got)) != want || err != nil {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	if got, err := WithoutPayload(nil); err == nil {
		t.Errorf("no user data: %s", got)
	}
}

func TestUserDataRefusesWhatIsNoObject(t *testing.T) {
	for _, userData := range []string{"", "[]", "{"} {
		if got, err := UserData([]byte(userData), nil, nil, nil); err == nil {
			t.Errorf("%q: %s", userData, got)
		}
	}
}

// The unit of the package starts the agent from a directory that an image makes read-only.
func TestAgentService(t *testing.T) {
	const line = "ExecStart=/usr/local/bin/hcp-node-agent run --timeout 0 $OPTIONS"
	settings := func(unit string) []string {
		return slices.DeleteFunc(strings.Split(unit, "\n"), func(line string) bool {
			return line == "" || strings.HasPrefix(line, "#")
		})
	}
	got := AgentService()
	if strings.Contains(got, packagedAgentPath) || strings.Count(got, "\n"+line+"\n") != 1 {
		t.Errorf("the unit does not start %s:\n%s", AgentPath, got)
	}
	back := strings.Replace(got, line, "ExecStart=/usr/bin/hcp-node-agent run --timeout 0 $OPTIONS", 1)
	if diff := cmp.Diff(settings(systemd.AgentService), settings(back)); diff != "" || strings.Contains(got, "#") {
		t.Errorf("more than the path differs (-want +got):\n%s", diff)
	}
}

func TestKubeletDropIn(t *testing.T) {
	want := []string{"[Unit]", "ConditionPathExists=/var/lib/kubelet/kubeconfig", "ConditionPathExists=!" + HoldKubeletPath}
	var got []string
	for line := range strings.Lines(KubeletDropIn) {
		if !strings.HasPrefix(line, "#") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
