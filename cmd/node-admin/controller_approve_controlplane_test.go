// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// A controller with the arguments of the Deployment and the kubeconfig in the Secret approves an enrolled node.
func (c *bothClusters) checkController(t *testing.T) {
	c.requireInstalled(t)
	c.startController(t)
	csr := c.submit(t, "worker-1")
	csrtest.AwaitConditions(t, csr, "Approved "+approver.ApprovedReason)
	waittest.Until(t, "waiting for the status Enrolled", func() (any, bool) {
		phase := c.hosted.run(t, "", "get", "nodeenrollment", "worker-1", "-o", "jsonpath={.status.phase}")
		return phase, phase == "Enrolled"
	})
	if owner := c.hosted.run(t, "", "-n", "hcp-node-admin", "get", "lease", "hcp-node-admin-controller", "-o",
		"jsonpath={.spec.holderIdentity}"); owner == "" {
		t.Error("no replica has the Lease")
	}
}

// startController runs the controller with the arguments of the Deployment until the end of the test, and returns its
// log.
func (c *bothClusters) startController(t *testing.T, more ...string) *recorder {
	t.Helper()
	args, err := c.ControllerCommand(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, executable)
	command.Args = slices.Concat([]string{programName}, args, more)
	command.Env = []string{"HOME=" + t.TempDir()}
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	log := newRecorder()
	command.Stderr = log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		isRunning := ctx.Err() == nil
		cancel()
		if err := command.Wait(); err != nil && !isRunning {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("%s", log.text())
		}
	})
	return log
}

// submit enrolls a node, submits its client CSR, and returns the name of the CSR.
func (c *bothClusters) submit(t *testing.T, node string) string {
	t.Helper()
	token, record, err := enrollment.New(enrollment.Options{
		NodeName: node, ClusterCA: csrtest.ClusterCA(t), Lifetime: time.Hour,
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	object, err := record.Object()
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	c.hosted.run(t, string(content), "create", "-f", "-")
	csr, _ := csrtest.SubmitWithToken(t, token)
	return csr
}
