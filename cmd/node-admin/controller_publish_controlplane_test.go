// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"encoding/base64"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
)

// A controller that is installed with --publish publishes user data with exactly the permissions that install grants.
func (c *bothClusters) checkPublish(t *testing.T) {
	c.requireInstalled(t)
	publishing := map[string]string{}
	for object, result := range results(t, c.controller(t, "install", "--publish", "-o", "json")) {
		switch {
		case strings.Contains(object, " Deployment "):
			if result != "configured" {
				t.Errorf("%s: %s", object, result)
			}
		case result != "unchanged":
			publishing[object] = result
		}
	}
	if len(publishing) != publishObjects {
		t.Errorf("with --publish: %v", publishing)
	}
	again := c.controller(t, "install", "--publish", "-o", "json")
	checkResults(t, again, "unchanged", installObjects+publishObjects)
	c.checkPublishKustomization(t)

	kubeconfig := c.kubeconfig(t, "", func(_ *api.Cluster, user *api.AuthInfo) {
		token := c.run(t, "", "-n", "hcp-node-admin", "create", "token", "hcp-node-admin-controller")
		*user = api.AuthInfo{Token: strings.TrimSpace(token)}
	})
	c.keepPodsReady(t)
	got := c.installUntil(t, "waiting until the controller publishes", "--publish", "--timeout", "1h")
	if got.Code != report.Failed || !strings.Contains(got.Err, "timed out after 1h0m0s waiting until the controller "+
		"publishes the user data of NodePool clusters/workers\n# remedy:\noc ") {
		t.Errorf("%+v", got)
	}
	t.Run("by the controller", func(t *testing.T) {
		install := c.startInstall(t, "--publish")
		install.await(t, "waiting until the controller publishes the user data of NodePool clusters/workers")
		log := c.startController(t, "--management-kubeconfig", kubeconfig)
		log.await(t, "the user data is published")
		published := c.hosted.run(t, "", "-n", "hcp-node-admin", "get", "secret", "user-data-workers", "-o",
			`jsonpath={.data.user-data\.ign}`)
		if published != base64.StdEncoding.EncodeToString(c.userData) {
			t.Errorf("published is %q", published)
		}
		if strings.Contains(log.text(), ignitionToken) {
			t.Error("the token was logged")
		}
		if code := <-install.done; code != report.Success {
			t.Errorf("code %d: %s", code, install.text())
		}
	})

	unreachable := c.kubeconfig(t, "", func(cluster *api.Cluster, _ *api.AuthInfo) {
		cluster.Server = "https://127.0.0.1:1"
	})
	t.Run("without the management cluster", func(t *testing.T) {
		log := c.startController(t, "--management-kubeconfig", unreachable)
		log.await(t, "newer user data is not published")
		csr := c.submit(t, "worker-2")
		csrtest.AwaitConditions(t, csr, "Approved "+approver.ApprovedReason)
		c.hosted.run(t, "", "delete", "nodeenrollment", "worker-2")
		if count := strings.Count(log.text(), "not published"); count != 1 {
			t.Errorf("the failure was logged %d times", count)
		}
	})

	// An installation that does not name it keeps it.
	checkResults(t, c.controller(t, "install", "-o", "json"), "unchanged", installObjects+publishObjects)
	// With --publish=false, the permissions are removed, and the Deployment has no token of the management cluster.
	got = c.controller(t, "install", "--publish=false")
	if got.Code != report.Success || strings.Count(got.Out, "\n  deleted ") != publishObjects {
		t.Errorf("with --publish=false: %+v", got)
	}
	if pod := c.run(t, "", "-n", "hcp-node-admin", "get", "deployment", "hcp-node-admin-controller", "-o",
		"jsonpath={.spec.template.spec.serviceAccountName} {.spec.template.spec.automountServiceAccountToken}"); pod !=
		"default false" {
		t.Errorf("the service account is %s", pod)
	}
	checkResults(t, c.controller(t, "install", "-o", "json"), "unchanged", installObjects)
	if got := c.controller(t, "install", "--publish"); got.Code != report.Success {
		t.Errorf("again with --publish: %+v", got)
	}
}

// checkPublishKustomization checks that kubectl applies the same objects as install, the patch of the Deployment
// included.
func (c *bothClusters) checkPublishKustomization(t *testing.T) {
	t.Helper()
	named := strings.NewReplacer("publisher-hosted", "publisher-hosted-a", "clusters-hosted", "clusters-hosted-a",
		"hosted-cluster=hosted", "hosted-cluster=hosted-a", "- hosted\n", "- hosted-a\n",
		"registry.example.com/hcp-node-admin:0.1.0", testImage,
	).Replace(c.run(t, "", "kustomize", "../../deploy/management-publish"))
	different := []string{"diff", "--server-side", "--force-conflicts", "--field-manager=test"}
	if out := c.run(t, named, append(different, "-f", "-")...); out != "" {
		t.Errorf("deploy/management-publish has other objects:\n%s", out)
	}
	if out := c.hosted.run(t, "", append(different, "-k", "../../deploy/hosted-publish")...); out != "" {
		t.Errorf("deploy/hosted-publish has other objects:\n%s", out)
	}
}
