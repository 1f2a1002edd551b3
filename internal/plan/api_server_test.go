// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
)

// haproxyConfig is the part of HyperShift's haproxy.cfg with addresses.
const haproxyConfig = `frontend local_apiserver
  bind 172.20.0.1:6443
  default_backend remote_apiserver

backend remote_apiserver
  option httpchk GET /version
  server controlplane REMOTE
`

func TestReplaceAPIServer(t *testing.T) {
	const before, after = "https://api.example.com:6443", "https://new.example.com:31234"
	haproxy := func(remote string) string { return strings.Replace(haproxyConfig, "REMOTE", remote, 1) }
	environment := func(host, port string) string {
		return "KUBERNETES_SERVICE_HOST='" + host + "'\nKUBERNETES_SERVICE_PORT='" + port + "'\n"
	}
	pod := ignitiontest.DefaultProxyPod("proxy:3128")
	for name, test := range map[string]struct {
		content      string
		former, next string // next: of content; former: separated by blanks
		want         string
	}{
		"HAProxy":      {haproxy("api.example.com:6443"), before, after, haproxy("new.example.com:31234")},
		"another name": {haproxy("api.example.com.other:6443"), before, after, haproxy("api.example.com.other:6443")},
		"a longer name": {
			haproxy("my-api.example.com:6443"), before, after, haproxy("my-api.example.com:6443"),
		},
		"another port": {haproxy("api.example.com:64430"), before, after, haproxy("api.example.com:64430")},
		"two moves": {
			haproxy("api.example.com:6443"), before + " https://second.example.com", after, haproxy("new.example.com:31234"),
		},
		"the default port": {haproxy("api.example.com:443"), "https://api.example.com", "https://b", haproxy("b:443")},
		"IPv6": {
			haproxy("[fd00::1]:6443"), "https://[fd00::1]:6443", "https://[fd00::2]:6443", haproxy("[fd00::2]:6443"),
		},
		"IPv6 without brackets": {
			haproxy("fd00::1:6443"), "https://[fd00::1]:6443", "https://[fd00::2]:6443", haproxy("[fd00::2]:6443"),
		},
		"the local address remains": {haproxy("a:1"), "https://172.20.0.2:6443", after, haproxy("a:1")},
		"environment": {
			environment("api.example.com", "6443"), before, after, environment("new.example.com", "31234"),
		},
		"environment with another port": {
			environment("api.example.com", "443"), before, after, environment("api.example.com", "443"),
		},
		"HTTPS proxy": {
			pod, before, after, strings.Replace(pod, "api.example.com:6443", "new.example.com:31234", 1),
		},
		"never moved":         {haproxy("api.example.com:6443"), "", after, haproxy("api.example.com:6443")},
		"moved back":          {haproxy("api.example.com:6443"), before, before, haproxy("api.example.com:6443")},
		"a URL without host":  {haproxy("api.example.com:6443"), before, "https://", haproxy("api.example.com:6443")},
		"no recorded URL":     {haproxy("api.example.com:6443"), before, "", haproxy("api.example.com:6443")},
		"an invalid former":   {haproxy(":443"), "%", after, haproxy(":443")},
		"a dollar in the URL": {haproxy("api.example.com:6443"), before, "https://a$1b:1", haproxy("a$1b:1")},
	} {
		got := string(ReplaceAPIServer([]byte(test.content), strings.Fields(test.former), test.next))
		if got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, test.want)
		}
	}
}

func TestAddressesOfTheStaticPod(t *testing.T) {
	for content, want := range map[string][2]string{
		haproxyConfig:                       {"https://REMOTE", "https://172.20.0.1:6443"},
		ignitiontest.DefaultProxyPod("p:1"): {"https://api.example.com:6443", "https://172.20.0.1:6443"},
		"KUBERNETES_SERVICE_HOST='a'\n":     {"", ""},
		"":                                  {"", ""},
	} {
		got := [2]string{RemoteAPIServer([]byte(content)), LocalAPIServer([]byte(content))}
		if got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
}

// The files of a saved payload get the recorded URL. A payload that was fetched names the present URL itself, also if
// the API server has moved back.
func TestPlanUsesTheAPIServerThatHasMoved(t *testing.T) {
	const before, after = "https://before:6443", "https://after:6443"
	for name, test := range map[string]struct {
		payload string // URL in its bootstrap kubeconfig; "": a saved payload, without it
		want    string
	}{
		"saved":               {"", "after:6443"},
		"fetched":             {after, "after:6443"},
		"fetched, moved back": {before, "before:6443"},
	} {
		content := "server controlplane before:6443\n"
		other := ledger.FileChange("/etc/other", "payload", content)
		p := &Plan{Cluster: kube.Cluster{Server: test.payload}, Plan: &adapt.Plan{Files: []ledger.Change{
			ledger.FileChange(proxyConfigPath, "payload", content), other,
		}}}
		builder{settings: Settings{APIServer: after, FormerAPIServers: []string{before}}}.useAPIServer(p)
		want := ledger.FileChange(proxyConfigPath, "payload", "server controlplane "+test.want+"\n")
		if got := p.Files[0]; got.Desired.Digest != want.Desired.Digest || string(got.Desired.Content) !=
			string(want.Desired.Content) || p.Files[1].Desired.Digest != other.Desired.Digest {
			t.Errorf("%s: %s", name, got.Desired.Content)
		}
	}
}

// A repeated join with the saved payload plans the files with the recorded URL.
func TestBuildUsesTheAPIServerThatHasMoved(t *testing.T) {
	tree, err := hostfs.OpenTree(t.TempDir())
	flowtest.NoError(t, err)
	t.Cleanup(func() { tree.Close() })
	payload, err := ignition.LoadPayload([]byte(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"` +
		proxyConfigPath + `","mode":420,"contents":` +
		ignitiontest.InlineContent("server controlplane before:6443\n") + `}]}}`))
	flowtest.NoError(t, err)
	facts := Facts{Files: tree, UnitState: func(string) systemd.UnitState { return systemd.UnitState{} }}
	facts.Host.Hostname = "worker-0"
	p, err := Build(facts, payload, Settings{
		Config:    config.Join{PauseImage: "registry.example.com/pause"},
		APIServer: "https://after:6443", FormerAPIServers: []string{"https://before:6443"},
	})
	flowtest.NoError(t, err)
	if content := string(p.Files[0].Desired.Content); content != "server controlplane after:6443\n" {
		t.Errorf("%s: %q", p.Files[0].Target, content)
	}
}
