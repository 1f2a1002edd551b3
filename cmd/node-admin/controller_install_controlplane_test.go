// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"encoding/base64"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Each test begins with c.uninstall or c.requireInstalled.
func TestControlPlaneControllerInstall(t *testing.T) {
	c := startBothClusters(t)
	t.Run("refusals", c.checkRefusals)
	t.Run("dry run", c.checkDryRun)
	t.Run("install", c.checkInstall)
	t.Run("the controller approves", c.checkController)
	t.Run("wait", c.checkWait)
	t.Run("other hosted cluster", c.checkOtherOwner)
	t.Run("manifests", c.checkKustomize)
	t.Run("publish", c.checkPublish)
	t.Run("uninstall", c.checkUninstall)
	t.Run("in the hosted cluster", c.checkInHosted)
	t.Run("deleted HostedCluster", c.checkDeletedHostedCluster)
	t.Run("renewals", c.checkRenewals)
}

// results returns the results of a run by the objects.
func results(t *testing.T, got clitest.Result) map[string]string {
	t.Helper()
	if wrong := admin().ValidateDocuments(t, got.Out); got.Code != report.Success || wrong != "" {
		t.Fatalf("%s %+v", wrong, got)
	}
	all := map[string]string{}
	for _, one := range clitest.DecodeDocument(t, got.Out)["changes"].([]any) {
		change := one.(map[string]any)
		namespace, _ := change["namespace"].(string)
		all[strings.Join([]string{
			change["cluster"].(string), change["kind"].(string), namespace, change["name"].(string),
		}, " ")] = change["result"].(string)
	}
	return all
}

// checkResults checks that all objects have one result.
func checkResults(t *testing.T, got clitest.Result, want string, count int) {
	t.Helper()
	all := results(t, got)
	if len(all) != count {
		t.Errorf("%d objects instead of %d: %v", len(all), count, all)
	}
	for object, result := range all {
		if result != want {
			t.Errorf("%s: %s instead of %s", object, result, want)
		}
	}
}

// Numbers of objects in each cluster.
const (
	hostedBaseObjects = 13 // Namespace, 3 CRDs, ServiceAccount, 4 roles, 4 bindings
	workloadObjects   = 2  // Deployment, NetworkPolicy
	publishObjects    = 9  // ServiceAccount, 4 roles, 4 bindings
	installObjects    = hostedBaseObjects + 1 + workloadObjects + 2
)

func (c *bothClusters) checkDryRun(t *testing.T) {
	c.uninstall(t)
	checkResults(t, c.controller(t, "install", "--dry-run", "-o", "json"), "created", installObjects)
	if after := c.state(t); after != "" {
		t.Errorf("the dry run has created\n%s", after)
	}
}

func (c *bothClusters) checkInstall(t *testing.T) {
	c.uninstall(t)
	got := c.controller(t, "install")
	if got.Code != report.Success || !strings.Contains(got.Out, "HostedCluster clusters/hosted-a: the controller runs in "+
		"the management cluster, in namespace hcp-node-admin\n  created     hosted      Namespace hcp-node-admin\n") {
		t.Fatalf("%+v", got)
	}
	installed := c.state(t)
	again := c.controller(t, "install", "-o", "json")
	checkResults(t, again, "unchanged", installObjects)
	checkResults(t, c.controller(t, "install", "--dry-run", "-o", "json"), "unchanged", installObjects)
	if after := c.state(t); after != installed {
		t.Errorf("the second installation has changed\n%s\ninto\n%s", installed, after)
	}
	for object, result := range results(t, c.controller(t, "install", "--dry-run", "--replicas", "3", "-o", "json")) {
		if isDeployment := strings.Contains(object, " Deployment "); isDeployment != (result == "configured") {
			t.Errorf("with another number of replicas: %s %s", object, result)
		}
	}
	if after := c.state(t); after != installed {
		t.Errorf("the dry run has changed\n%s\ninto\n%s", installed, after)
	}
	token := regexp.MustCompile(`token: (\S+)`).FindStringSubmatch(c.writtenKubeconfig(t))[1]
	if strings.Contains(got.Out+got.Err+again.Out+again.Err, token) {
		t.Error("the token was printed")
	}
}

// writtenKubeconfig returns the kubeconfig that install has written for the controller.
func (c *bothClusters) writtenKubeconfig(t *testing.T) string {
	t.Helper()
	encoded := c.run(t, "", "-n", "hcp-node-admin", "get", "secret", "hcp-node-admin-controller", "-o",
		"jsonpath={.data.kubeconfig}")
	content, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The wait ends when the pods are ready, and names the cause if they are not.
func (c *bothClusters) checkWait(t *testing.T) {
	c.uninstall(t)
	got := c.installUntil(t, " 0 of 2 replicas; pod ", "--timeout", "1h")
	if got.Code != report.Failed || !strings.Contains(got.Err, "timed out after 1h0m0s waiting until Deployment "+
		"hcp-node-admin/hcp-node-admin-controller is available on the management cluster: 0 of 2 replicas; pod ") ||
		!strings.Contains(got.Out, "waiting until Deployment hcp-node-admin/hcp-node-admin-controller is available") ||
		!strings.Contains(got.Err, "\noc --kubeconfig "+c.admin+" -n hcp-node-admin describe pods ") {
		t.Errorf("%+v", got)
	}
	install := c.startInstall(t)
	install.await(t, "waiting until Deployment hcp-node-admin/hcp-node-admin-controller is available on the management "+
		"cluster: 0 of 2 replicas; pod ")
	c.keepPodsReady(t)
	if code := <-install.done; code != report.Success {
		t.Errorf("code %d: %s", code, install.text())
	}
}

// Two HostedClusters cannot share a namespace.
func (c *bothClusters) checkOtherOwner(t *testing.T) {
	c.requireInstalled(t)
	c.addHostedCluster(t, "b", "None")
	for _, command := range []string{"install", "uninstall"} {
		args := []string{
			"controller", command, "b", "--kubeconfig", c.admin, "--hosted-kubeconfig", c.hosted.plane.Kubeconfig,
		}
		if command == "install" {
			args = append(args, "--image", testImage)
		}
		got := runCommandLine(t, args...)
		if got.Code != report.Refused || !strings.Contains(got.Err, "namespace hcp-node-admin of the management cluster "+
			"contains the controller of HostedCluster clusters/hosted-a\n# remedy: select another namespace with "+
			"--controller-namespace\n") {
			t.Errorf("%s: %+v", command, got)
		}
	}
	// A namespace that has another purpose is not changed.
	before := c.run(t, "", "get", "namespace", "clusters", "-o", "jsonpath={.metadata.labels}")
	for _, command := range []string{"install", "uninstall"} {
		args := []string{
			"controller", command, "b", "--kubeconfig", c.admin, "--hosted-kubeconfig",
			c.hosted.plane.Kubeconfig, "--controller-namespace", "clusters",
		}
		if command == "install" {
			args = append(args, "--wait=false", "--image", testImage)
		} else {
			args = append(args, "--dry-run")
		}
		got := runCommandLine(t, args...)
		if got.Code != report.Success || strings.Contains(got.Out, "deleted     management  Namespace") {
			t.Errorf("%s: %+v", command, got)
		}
		if after := c.run(t, "", "get", "namespace", "clusters", "-o", "jsonpath={.metadata.labels}"); after != before {
			t.Errorf("the labels of the namespace are %s, were %s", after, before)
		}
	}
	c.run(t, "", "-n", "clusters", "delete", "deployment,secret,networkpolicy",
		"hcp-node-admin-controller")
	c.run(t, "", "-n", "clusters", "delete", "hostedcluster", "b")
}

// kubectl applies the kustomizations without a change: they are the same objects, and strictly valid.
func (c *bothClusters) checkKustomize(t *testing.T) {
	c.requireInstalled(t)
	for dir, m := range map[string]*managementCluster{
		"hosted-token": c.hosted, "hosted-base": c.hosted,
		"management": c.managementCluster,
	} {
		out := m.run(t, "", "apply", "--server-side", "--field-manager=hcp-node-admin", "--validate=strict",
			"--dry-run=server", "-k", "../../deploy/"+dir)
		if strings.Contains(out, "created") || out == "" {
			t.Errorf("deploy/%s has other objects:\n%s", dir, out)
		}
	}
	c.run(t, "", "create", "namespace", "clusters-hosted")
	c.run(t, "", "apply", "--dry-run=server", "--validate=strict", "-k", "../../deploy/management-publish")
}

func (c *bothClusters) checkUninstall(t *testing.T) {
	c.uninstall(t)
	c.requireInstalled(t, "--publish")
	c.submit(t, "worker-3")
	c.hosted.run(t, "{apiVersion: v1, kind: Secret, metadata: {name: user-data-workers, namespace: hcp-node-admin, "+
		"labels: {"+v1alpha1.LabelManagedBy+": "+v1alpha1.ManagedByPublisher+"}}}", "create", "-f", "-")
	installed := c.state(t)
	dry := c.controller(t, "uninstall", "--dry-run", "-o", "json")
	checkResults(t, dry, "deleted", installObjects-4+publishObjects+1) // and the published Secret
	if after := c.state(t); after != installed {
		t.Errorf("the dry run has changed\n%s\ninto\n%s", installed, after)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	kubetest.WriteFile(t, kubeconfig, []byte(c.writtenKubeconfig(t)))
	got := c.controller(t, "uninstall")
	const remaining = "in the hosted cluster remain:\n  Namespace hcp-node-admin\n" +
		"  CustomResourceDefinition nodeenrollments.hcp-node-agent.io, with 1 object\n" +
		"  CustomResourceDefinition noderemediations.hcp-node-agent.io\n" +
		"  CustomResourceDefinition noderollouts.hcp-node-agent.io\n# remedy: remove them too, with all NodeEnrollments:\n" +
		"hcp-node-admin controller uninstall hosted-a --crd --force --namespace clusters --kubeconfig "
	if got.Code != report.Success || !strings.Contains(got.Out, remaining) {
		t.Errorf("%+v", got)
	}
	waittest.Until(t, "waiting for the end of the namespace", func() (any, bool) {
		left := slices.Sorted(strings.Lines(c.state(t)))
		return left, slices.Equal(left, []string{
			"CustomResourceDefinition /nodeenrollments.hcp-node-agent.io 1\n",
			"CustomResourceDefinition /noderemediations.hcp-node-agent.io 1\n",
			"CustomResourceDefinition /noderollouts.hcp-node-agent.io 1\n", "Namespace /hcp-node-admin \n",
		})
	})
	conn := kubetest.Connect(t, kubeconfig)
	waittest.Until(t, "waiting for the rejection of the credential, which the API server has cached", func() (any, bool) {
		_, err := conn.Client.Nodes().Get(t.Context(), "none")
		return err, apierrors.IsUnauthorized(err)
	})
	old := runCommandLine(t, "controller", "run", "--kubeconfig", kubeconfig)
	if old.Code == report.Success {
		t.Errorf("the credential is still valid: %+v", old)
	}
	refused := c.controller(t, "uninstall", "--crd")
	if refused.Code != report.Refused || !strings.Contains(refused.Err, "the hosted cluster has 1 object of "+
		"nodeenrollments.hcp-node-agent.io, which --crd deletes too") {
		t.Errorf("%+v", refused)
	}
	if forced := c.controller(t, "uninstall", "--crd", "--force"); forced.Code != report.Success {
		t.Errorf("%+v", forced)
	}
	c.awaitNoObjects(t)
	if none := c.controller(t, "uninstall"); none.Code != report.Success ||
		none.Out != "HostedCluster clusters/hosted-a has no controller\n" {
		t.Errorf("%+v", none)
	}
}

func (c *bothClusters) awaitNoObjects(t *testing.T) {
	t.Helper()
	waittest.Until(t, "waiting for the end of all objects", func() (any, bool) {
		left := c.state(t)
		return left, left == ""
	})
}

// checkInHosted installs and removes the controller in the hosted cluster.
func (c *bothClusters) checkInHosted(t *testing.T) {
	c.uninstall(t)
	checkResults(t, c.controller(t, "install", "--in", "hosted", "-o", "json"), "created",
		hostedBaseObjects+workloadObjects)
	checkResults(t, c.controller(t, "install", "--in", "hosted", "-o", "json"), "unchanged",
		hostedBaseObjects+workloadObjects)
	waittest.Until(t, "waiting for the pods, which the restricted pod security standard admits", func() (any, bool) {
		pods := strings.Fields(c.hosted.run(t, "", "-n", "hcp-node-admin", "get", "pods", "-o", "name"))
		return pods, len(pods) == 2
	})
	if got := c.controller(t, "uninstall", "--crd"); got.Code != report.Success {
		t.Errorf("%+v", got)
	}
	c.awaitNoObjects(t)
}
