// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package kubelet

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func TestControlPlaneServerVersion(t *testing.T) {
	version, err := kube.ServerVersion(waittest.Context(t), kubetest.BootstrapKubeconfig(t, nil), nil,
		(&reporttest.Recorder{}).Log())
	if err != nil || "v"+version.String() != kubetest.Plane.KubernetesVersion {
		t.Errorf("ServerVersion() = %s, %v; want %s", version, err, kubetest.Plane.KubernetesVersion)
	}
}
