// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// bothClusters are a real management cluster and a real hosted cluster, with the HostedCluster clusters/hosted-a.
type bothClusters struct {
	*managementCluster

	hosted *managementCluster // only its control plane and kubectl
	admin  string             // kubeconfig of the management cluster
}

func startBothClusters(t *testing.T) *bothClusters {
	t.Helper()
	withoutKubeconfig(t)
	m := startManagementCluster(t)
	if err := m.Define(t.Context()); err != nil {
		t.Fatal(err)
	}
	plane := kubetest.StartPlane(t, "hosted")
	kubetest.Plane = plane // for the helpers that submit CSRs
	c := &bothClusters{managementCluster: m, hosted: newManagementCluster(t, plane)}
	c.admin = m.kubeconfig(t, "", nil)
	c.createHostedCluster(t)
	return c
}

// createHostedCluster creates the HostedCluster, and what belongs to it.
func (c *bothClusters) createHostedCluster(t *testing.T) {
	t.Helper()
	c.createObjects(t)
	if err := c.SetAdminKubeconfig(t.Context(), mustReadFile(t, c.hosted.plane.Kubeconfig)); err != nil {
		t.Fatal(err)
	}
}

// uninstall removes the controller, and all objects of it.
func (c *bothClusters) uninstall(t *testing.T) {
	t.Helper()
	if got := c.controller(t, "uninstall", "--crd", "--force"); got.Code != report.Success {
		t.Fatalf("%+v", got)
	}
	c.awaitNoObjects(t)
}

// requireInstalled installs the controller, unless that was done.
func (c *bothClusters) requireInstalled(t *testing.T, args ...string) {
	t.Helper()
	if got := c.controller(t, "install", args...); got.Code != report.Success {
		t.Fatalf("%+v", got)
	}
}

// testImage is an image that no node pulls. It has a digest, so no request for one is sent.
const testImage = "registry.example.com/hcp-node-admin@sha256:" +
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// controller runs a subcommand of controller for the HostedCluster, without a wait for pods, which do not run here.
func (c *bothClusters) controller(t *testing.T, command string, args ...string) clitest.Result {
	t.Helper()
	if command == "install" {
		args = append(args, "--wait=false", "--image", testImage)
	}
	return runCommandLine(t, append([]string{"controller", command, "hosted-a", "--kubeconfig", c.admin}, args...)...)
}

// state returns the versions of all objects that install applies, of both clusters.
func (c *bothClusters) state(t *testing.T) string {
	t.Helper()
	const kinds = "namespaces,customresourcedefinitions,serviceaccounts,clusterroles,clusterrolebindings,roles," +
		"rolebindings,secrets,deployments,poddisruptionbudgets,networkpolicies"
	var all string
	for _, m := range []*managementCluster{c.managementCluster, c.hosted} {
		list := m.run(t, "", "get", kinds, "-A", "-o",
			`jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name} {.metadata.generation}{"\n"}{end}`)
		for line := range strings.Lines(list) {
			if strings.Contains(line, "hcp-node") && !strings.Contains(line, "/default ") { // the service account
				all += line
			}
		}
	}
	return all
}

// startInstall starts the installation of the controller, which waits until the controller is available.
func (c *bothClusters) startInstall(t *testing.T, args ...string) *background {
	t.Helper()
	return startCommand(t, append([]string{
		"controller", "install", "hosted-a", "--kubeconfig", c.admin, "--image", testImage, "--timeout", "10m",
	}, args...)...)
}

// installUntil installs the controller, and lets the deadline of a wait pass when text is printed.
func (c *bothClusters) installUntil(t *testing.T, text string, args ...string) clitest.Result {
	t.Helper()
	return admin().ExecUntil(t, text, append([]string{
		"controller", "install", "hosted-a", "--kubeconfig", c.admin, "--image", testImage,
	}, args...)...)
}

// keepPodsReady reports the pods of the controller as ready until the test ends, as the kubelet of the management
// cluster does.
func (c *bothClusters) keepPodsReady(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for wait.Sleep(ctx, time.Second) == nil {
			pods, _ := c.Run(ctx, "", "-n", "hcp-node-admin", "get", "pods", "-o", "name")
			for pod := range strings.FieldsSeq(pods) {
				_, _ = c.Run(ctx, "", "-n", "hcp-node-admin", "patch", pod, "--subresource=status", "-p",
					`{"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}`) // or it was replaced
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}
