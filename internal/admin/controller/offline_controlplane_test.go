// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	enrolling "github.com/hcp-node-agent/hcp-node-agent/internal/admin/enroll"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// The manifest of an enrollment without a cluster, applied unchanged, admits the host with the join token.
func TestControlPlaneManifestAdmitsTheHost(t *testing.T) {
	c, dir := startController(t), t.TempDir()
	node, err := enrolling.ParseNode("offline=192.0.2.120")
	if err != nil {
		t.Fatal(err)
	}
	result, err := enrolling.Offline(enrolling.Options{NodePool: "workers", Nodes: []enrolling.Node{node}, Dir: dir},
		csrtest.ClusterCA(t), time.Now())
	if err != nil || len(result.Enrolled) != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	csrtest.Kubectl(t.Context(), t, "", "apply", "-f", filepath.Join(dir, "enrollments"))
	t.Cleanup(func() {
		csrtest.Kubectl(context.Background(), t, "", "delete", "-f", filepath.Join(dir, "enrollments"))
	})
	token, err := enrollment.ParseToken(kubetest.ReadFile(t, result.Enrolled[0].TokenFile))
	if err != nil {
		t.Fatal(err)
	}
	csr, _ := csrtest.SubmitWithToken(t, token)
	c.awaitApproved(csr)
	c.awaitApproved(csrtest.ServingRequest{Node: "offline", Addresses: []string{"192.0.2.120"}}.Submit(t))
}
