// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// checkRenewals installs the controller in a hosted cluster of OpenShift, whose nodes get the permission to get the
// pull secret.
func (c *bothClusters) checkRenewals(t *testing.T) {
	c.uninstall(t)
	c.hosted.run(t, "", "create", "namespace", "openshift-config")
	checkResults(t, c.controller(t, "install", "--dry-run", "-o", "json"), "created", installObjects+4)
	checkResults(t, c.controller(t, "install", "-o", "json"), "created", installObjects+4)
	checkResults(t, c.controller(t, "install", "-o", "json"), "unchanged", installObjects+4)
	out := c.hosted.run(t, "", "apply", "--server-side", "--field-manager=hcp-node-admin", "--validate=strict",
		"--dry-run=server", "-k", "../../deploy/hosted-renewals")
	left := c.hosted.run(t, "", "-n", "openshift-config", "get", "role,rolebinding", "-o", "name")
	const want = "role.rbac.authorization.k8s.io/hcp-node-agent-renewals\n" +
		"rolebinding.rbac.authorization.k8s.io/hcp-node-agent-renewals\n"
	if left != want || out == "" {
		t.Errorf("%q, applied %q", left, out)
	}
	if got := c.controller(t, "uninstall", "--crd"); got.Code != report.Success {
		t.Errorf("%+v", got)
	}
	if left := c.hosted.run(t, "", "-n", "openshift-config", "get", "role,rolebinding", "-o", "name"); left != "" {
		t.Errorf("left are %s", left)
	}
	left = c.hosted.run(t, "", "get", "clusterrole,clusterrolebinding", "-o", "name")
	if strings.Contains(left, "hcp-node") {
		t.Errorf("left are %s", left)
	}
	c.awaitNoObjects(t)
}
