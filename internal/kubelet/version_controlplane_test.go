// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package kubelet

import (
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

func TestControlPlaneServerVersion(t *testing.T) {
	version, err := kube.ServerVersion(kubetest.Context(t, time.Minute), kubetest.BootstrapKubeconfig(t, nil), nil,
		(&reporttest.Recorder{}).Log())
	if err != nil || "v"+version.String() != kubetest.Plane.KubernetesVersion {
		t.Errorf("ServerVersion() = %s, %v; want %s", version, err, kubetest.Plane.KubernetesVersion)
	}
}
