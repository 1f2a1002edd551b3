// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package node

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func TestControlPlaneDeleteNode(t *testing.T) {
	node, _ := joinedNode(t, "departed")
	kubetest.CreateNode(t, node.Conn, node.Name)
	kubetest.PatchNodeStatus(t, node.Conn, node.Name, []byte(`{"status": {"nodeInfo": {"machineID": "m1"}}}`))
	admin := kubetest.ReadFile(t, kubetest.Plane.Kubeconfig)
	ctx := waittest.Context(t)
	log := (&reporttest.Recorder{}).Log()

	_, err := OpenDeleter(ctx, kubetest.ReadFile(t, kubetest.NodeKubeconfig(t, node.Name)), node.Name, "m1", log)
	reporttest.CheckFailure(t, err, report.Refused, "may not delete Node departed")
	_, err = OpenDeleter(ctx, admin, node.Name, "m2", log)
	reporttest.CheckFailure(t, err, report.Refused, "belongs to another host (machine-id m1, this host's is m2)")
	_, err = OpenDeleter(ctx, []byte("{"), node.Name, "m1", log)
	reporttest.CheckFailure(t, err, report.Usage, "reading the kubeconfig")

	deleter, err := OpenDeleter(ctx, admin, node.Name, "m1", log)
	if err != nil {
		t.Fatal(err)
	}
	for attempt := range 2 { // the second finds no Node
		if err := deleter.Delete(ctx); err != nil {
			t.Fatal(fmt.Errorf("attempt %d: %w", attempt, err))
		}
		if _, err := kubetest.AdminClient(t).CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{}); !apierrors.IsNotFound(
			err,
		) {
			t.Errorf("attempt %d: the Node still exists: %v", attempt, err)
		}
	}
}
