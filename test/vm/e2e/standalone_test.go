// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// workersCA is the path in the machine of the machine-config server's CA. workersUserData is the
// path of the content of Secret worker-user-data.
const (
	workersCA       = "/root/machine-config-ca.crt"
	workersUserData = "/root/worker.ign"
	firstBoot       = "/etc/ignition-machine-config-encapsulated.json"
)

// A worker of a standalone cluster joins with its machine-config server: without a token, and
// with the given CA. All files that the machine-config daemon checks must be exactly as served.
func TestStandaloneCluster(t *testing.T) {
	ctx := newContext(t)
	before := hostState(ctx, t)
	for from, to := range map[string]string{
		environment.ControlPlane.MachineConfigCA: workersCA,
		environment.ControlPlane.WorkerUserData:  workersUserData,
	} {
		content, err := os.ReadFile(from)
		must(t, err)
		must(t, environment.Machine.Put(ctx, to, bytes.NewReader(content), 0o600))
	}
	mustOutput(ctx, t, "rm "+testenv.UserDataPath) // no file of the hosted cluster is needed
	// Debian 12 has no nmstate, which the payload's nmstate.service runs.
	mustOutput(ctx, t, `printf '#!/bin/sh\n' >/usr/bin/nmstatectl && chmod 0755 /usr/bin/nmstatectl`)

	byValues := "join --network-timeout " + testenv.NetworkTimeout + " --endpoint " +
		environment.ControlPlane.MachineConfigURL + " --ca-file " +
		workersCA + " --approve-with " + testenv.ApproverKubeconfigPath
	joined := runAgent(ctx, t, report.Success, byValues)
	checkContains(t, joined.Stdout, "through api-int.", "is Ready and schedulable")
	for _, wrong := range []string{"NodePool", "hosted", "platform None", "token", "removed the bootstrap credential"} {
		if strings.Contains(joined.Stdout, wrong) {
			t.Errorf("the output of a join to a standalone cluster contains %q", wrong)
		}
	}
	_, err := environment.RunPod(ctx, "standalone")
	must(t, err)
	node, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	must(t, err)
	if pool, labelled := node.Labels[kubelet.NodePoolLabel]; labelled {
		t.Errorf("the Node is labelled with the NodePool %q", pool)
	}
	checkFilesAsServed(ctx, t)
	checkRequestsWithoutToken(t)

	// The cluster's own user data has the same result.
	checkContains(t, runAgent(ctx, t, report.Success,
		"join --user-data "+workersUserData+" --approve-with "+testenv.ApproverKubeconfigPath).Stdout, "nothing was changed")
	var plan struct{ Empty bool }
	must(t, json.Unmarshal([]byte(runAgent(ctx, t, report.Success, "plan --output json").Stdout), &plan))
	if !plan.Empty {
		t.Error("the plan of the joined host is not empty")
	}
	checkContains(t, runAgent(ctx, t, report.Success, "status").Stdout, "API server      https://api-int.")

	must(t, environment.Machine.Reboot(ctx))
	awaitReadyNode(ctx, t)
	checkFilesAsServed(ctx, t)
	must(t, environment.DeletePods(ctx))
	runAgent(ctx, t, report.Success, "leave --no-drain")
	mustOutput(ctx, t, "rm "+workersCA+" "+workersUserData)
	checkHostState(ctx, t, before)
}

// checkFilesAsServed compares the content and the mode of every file, unit and drop-in of the machine with
// the served configuration, as the machine-config daemon does (machine-config-operator,
// pkg/daemon/on_disk_validation.go).
func checkFilesAsServed(ctx context.Context, t *testing.T) {
	t.Helper()
	raw, err := os.ReadFile(environment.ControlPlane.WorkerConfig)
	must(t, err)
	served, err := ignition.LoadPayload(raw)
	must(t, err)
	var want, paths []string
	add := func(path string, content []byte, mode uint32) {
		want = append(want, fmt.Sprintf("%s %o %x", path, mode, sha256.Sum256(content)))
		paths = append(paths, path)
	}
	for _, file := range served.Config.Storage.Files {
		if content, mode, _ := served.File(file.Path); file.Path != firstBoot {
			add(file.Path, content, mode)
		}
	}
	for _, unit := range served.Config.Systemd.Units {
		path := "/etc/systemd/system/" + unit.Name
		if unit.Contents != nil && *unit.Contents != "" {
			add(path, []byte(*unit.Contents), 0o644)
		}
		for _, dropin := range unit.Dropins {
			if dropin.Contents != nil && *dropin.Contents != "" {
				add(filepath.Join(path+".d", dropin.Name), []byte(*dropin.Contents), 0o644)
			}
		}
	}
	if !slices.Contains(paths, "/etc/machine-config-daemon/node-annotations.json") ||
		!slices.Contains(paths, "/etc/systemd/system/nodeip-configuration.service") {
		t.Fatalf("the served configuration lacks the files that this test needs: %v", paths)
	}
	must(t, environment.Machine.Put(ctx, "/root/paths", strings.NewReader(strings.Join(paths, "\n")+"\n"), 0o600))
	found := mustOutput(ctx, t, `while read -r path; do
		echo "$path $(stat -c %a "$path") $(sha256sum <"$path" | cut -d' ' -f1)"
	done </root/paths 2>&1; rm /root/paths; [ -e `+firstBoot+` ] && echo a first boot is pending; true`)
	got := strings.Split(found, "\n")
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("not as served: %s", line)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d lines for %d files:\n%s", len(got), len(want), found)
	}
	masked := mustOutput(ctx, t,
		`systemctl list-unit-files --state=masked,masked-runtime --no-legend --no-pager | cut -d' ' -f1
		systemctl is-enabled nodeip-configuration.service machine-config-daemon-firstboot.service nmstate.service \
			kubelet.service`)
	for _, unit := range served.Config.Systemd.Units {
		if slices.Contains(strings.Fields(masked), unit.Name) {
			t.Errorf("%s is masked", unit.Name)
		}
	}
	if !strings.HasSuffix(masked, strings.TrimSuffix(strings.Repeat("enabled\n", 4), "\n")) {
		t.Errorf("enabled units: %s", masked)
	}
}

// checkRequestsWithoutToken checks the requests that the machine-config server has received.
func checkRequestsWithoutToken(t *testing.T) {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(environment.ControlPlane.Logs, "machine-config-server.log"))
	must(t, err)
	const request = `GET /config/worker Accept: "application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1" ` +
		`User-Agent: "hcp-node-agent" Authorization: false: 200`
	if !strings.Contains(string(log), request) {
		t.Errorf("requests to the machine-config server:\n%s", log)
	}
}
