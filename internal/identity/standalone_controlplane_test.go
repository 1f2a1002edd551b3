// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package identity

import (
	"encoding/json"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// workerKubeconfig returns the bootstrap kubeconfig that a standalone cluster
// serves, with a token instead of a certificate, and with the server URL that
// is reachable from here.
func workerKubeconfig(t *testing.T) []byte {
	t.Helper()
	body, err := os.ReadFile(kubetest.Plane.WorkerConfig)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Storage struct {
			Files []struct {
				Path     string
				Contents struct{ Source string }
			}
		}
	}
	if err := json.Unmarshal(body, &config); err != nil {
		t.Fatal(err)
	}
	for _, file := range config.Storage.Files {
		if file.Path != "/etc/kubernetes/kubeconfig" {
			continue
		}
		content, err := url.PathUnescape(strings.TrimPrefix(file.Contents.Source, "data:,"))
		if err != nil {
			t.Fatal(err)
		}
		kubeconfig, err := clientcmd.Load([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		for _, cluster := range kubeconfig.Clusters {
			if !strings.Contains(cluster.Server, "api-int.") {
				t.Errorf("its server is %s", cluster.Server)
			}
			cluster.Server = "https://" + kubetest.Plane.APIForward
		}
		led, err := clientcmd.Write(*kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		return led
	}
	t.Fatal("there is no bootstrap kubeconfig")
	return nil
}

// A token obtains the identity as a certificate does, and the messages match a
// cluster that is not hosted.
func TestControlPlaneStandaloneIdentity(t *testing.T) {
	identity, recorded := newIdentity(t, "standalone")
	identity.BootstrapKubeconfig, identity.Topology = workerKubeconfig(t), ClusterTopology{Standalone: true}
	if _, err := identity.Obtain(recorded.DeadlineAt(t, awaitingApproval),
		nil); report.CodeOf(err) != report.ApprovalMissing {
		t.Fatalf("without an approval: %v", err)
	}
	result, err := identity.Obtain(waittest.Context(t), manualApprover(t))
	if err != nil || !result.Changed {
		t.Fatalf("%+v, %v", result, err)
	}
	if state, err := identity.Check(); err != nil || state != Valid {
		t.Errorf("%s, %v", state, err)
	}
	if text := recorded.Text(); !strings.Contains(text, "this host has no Machine object, so no controller approves "+
		"it; run on the cluster:") || strings.Contains(text, "platform None") {
		t.Errorf("printed:\n%s", text)
	}
	// The approver of --approve-with identifies a bootstrapper by these.
	spec := clientCSRsOf(t, "standalone")[0].Spec
	slices.Sort(spec.Groups)
	groups := "system:authenticated system:serviceaccounts system:serviceaccounts:openshift-machine-config-operator"
	if spec.Username != bootstrapperSubject().CommonName || strings.Join(spec.Groups, " ") != groups {
		t.Errorf("requested by %s of %q", spec.Username, spec.Groups)
	}
}
