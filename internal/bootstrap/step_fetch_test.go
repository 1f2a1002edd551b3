// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// An unfinished join keeps user data that fails, because it waits for the server. A
// host that has joined continues with its saved payload.
func TestFailedUserDataIsRemovedAfterAJoin(t *testing.T) {
	for name, test := range map[string]struct {
		state joinstate.State
		left  bool
	}{
		"unfinished": {joinstate.State{Hosted: true}, true},
		"joined":     {joinstate.State{Hosted: true, Finished: time.Unix(2, 0)}, false},
	} {
		userData, err := ignition.NewUserData(ignition.Values{
			Endpoint: "127.0.0.1:1",
			CA:       certtest.NewCA(t, "ca").PEM,
			NodePool: "clusters/a",
			Hash:     "11",
			Token:    []byte(flowtest.UUID),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		j := NewFlow(plan.Run{
			Dir: t.TempDir(), Request: request.Request{UserData: userData, NewUserData: true}, State: test.state,
		}, nil)
		if err := joinstate.SaveFile(j.Run.Dir, joinstate.UserDataFile, []byte("user data")); err != nil {
			t.Fatal(err)
		}
		if _, err := fetchPayload(ctx, j, report.Log{}); err == nil {
			t.Errorf("%s: nobody serves a payload there", name)
		}
		if left, err := joinstate.LoadFile(j.Run.Dir, joinstate.UserDataFile); err != nil || (left != nil) != test.left {
			t.Errorf("%s: the user data is there: %v, %v", name, left != nil, err)
		}
	}
}

// A join accepts a payload with new credentials and CAs, and with another address of the API server. Other changes need
// an upgrade.
func TestJoinAcceptsARenewedPayload(t *testing.T) {
	const proxy, unit = "/etc/kubernetes/apiserver-proxy-config/haproxy.cfg", "/etc/kubernetes/other"
	kubeconfig := func(server string) string {
		config := clientcmdapi.NewConfig()
		config.Clusters["c"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: certtest.NewCA(t, "ca").PEM}
		config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c"}
		config.CurrentContext = "x"
		content, err := clientcmd.Write(*config)
		flowtest.NoError(t, err)
		return string(content)
	}
	installed := map[string]string{
		proxy: "bind 172.20.0.1:6443\nserver controlplane before:6443\n", unit: "a", pods.PullSecretPath: "{}",
		"/etc/machine-config-daemon/node-annotations.json": "rendered-master-1", "/etc/mcs-machine-config-content.json": "1",
	}
	for name, test := range map[string]struct {
		change  map[string]string
		refused string
	}{
		"unchanged":     {},
		"a pull secret": {change: map[string]string{pods.PullSecretPath: `{"auths":{}}`}},
		"the name of the MachineConfig": {change: map[string]string{
			"/etc/machine-config-daemon/node-annotations.json": "rendered-master-2", "/etc/mcs-machine-config-content.json": "2",
		}},
		"the API server has moved": {change: map[string]string{
			proxy: "bind 172.20.0.1:6443\nserver controlplane after:31234\n",
		}},
		"HAProxy has another local address": {refused: proxy, change: map[string]string{
			proxy: "bind 172.20.0.2:6443\nserver controlplane after:31234\n",
		}},
		"another address than that in the kubeconfig": {refused: proxy, change: map[string]string{
			proxy: "bind 172.20.0.1:6443\nserver controlplane other:31234\n",
		}},
		"another file": {change: map[string]string{unit: "b"}, refused: unit},
	} {
		run := &plan.Run{Dir: t.TempDir(), State: joinstate.State{APIServer: "https://before:6443"}}
		flowtest.NoError(t, joinstate.SaveFile(run.Dir, joinstate.PayloadFile, encodeFiles(installed)))
		served := maps.Clone(installed)
		maps.Copy(served, test.change)
		served[ignition.BootstrapKubeconfigPath] = kubeconfig("https://after:31234")
		fetched, err := ignition.LoadPayload(encodeFiles(served))
		flowtest.NoError(t, err)
		err = checkSamePayload(run, fetched)
		if (err == nil) != (test.refused == "") ||
			(err != nil && !strings.HasSuffix(err.Error(), "differs in "+test.refused)) {
			t.Errorf("%s: %v, want %q", name, err, test.refused)
		}
	}
}
