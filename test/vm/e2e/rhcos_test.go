// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/nodeimage"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

const (
	agentBinary = "../../../bin/hcp-node-agent"
	// agentPort is the port of the machine at which Ignition downloads the agent.
	agentPort = 8443

	// Versions of node images.
	firstImage, nextImage, brokenImage = "9.6.20251028-0", "9.6.20251119-0", "9.6.20251203-0"
	refusedImage                       = "9.6.20251210-0"
)

// TestNodeLifeCycleOnRHCOS tests the life of a host of RHCOS: it enrolls at its first boot and is upgraded to another
// image. With THOROUGH=1, a host that was installed without user data of the NodePool joins by a command before the
// upgrade, which leads to the same files, and an upgrade to an image with a kubelet that does not start is rolled back.
func TestNodeLifeCycleOnRHCOS(t *testing.T) {
	ctx := newContext(t)
	image := pushNodeImage(t, firstImage, nodeimage.FirstRelease, nil)
	isThorough := os.Getenv("THOROUGH") != ""
	part := func(name string, run func(*testing.T)) {
		if !t.Run(name, run) {
			t.FailNow()
		}
	}
	part("first boot", func(t *testing.T) { bootFirst(ctx, t, image) })
	if isThorough {
		part("running host", func(t *testing.T) {
			provisioned := configuredFiles(ctx, t)
			restart(ctx, t)
			joinRunningHost(ctx, t, image)
			checkSameFiles(t, provisioned, configuredFiles(ctx, t))
		})
	}
	part("upgrade", func(t *testing.T) { upgradeImage(ctx, t) })
	if isThorough {
		part("rollback", func(t *testing.T) { rollBackImage(ctx, t) })
	}
}

// bootFirst provisions the machine with derived user data: Ignition installs the agent, the payload's own units boot
// the image of the release and prepare the node, and no person approves a CSR.
func bootFirst(ctx context.Context, t *testing.T, image string) {
	t.Helper()
	provision(ctx, t, image, derivedUserData(ctx, t))
	await(ctx, t, "systemctl is-active hcp-node-agent") // the join is complete
	awaitReadyNode(ctx, t)
	t.Log(mustOutput(ctx, t, "journalctl --no-pager -o cat -u hcp-node-agent"))
	checkContains(t, runAgent(ctx, t, report.Success, "status").Stdout, "no drift")
	checkOnlyOwnFiles(ctx, t, image)
	mustOutput(ctx, t, "! ls /etc/hcp-node-agent/node.token 2>/dev/null")
	_, err := environment.RunPod(ctx, "first")
	must(t, err)
	must(t, environment.DeletePods(ctx)) // no controller would recreate them after a drain
}

// serveAgent serves the agent to the machine, and returns the options of enroll with which Ignition installs it.
func serveAgent(ctx context.Context, t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(agentBinary)
	must(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, agentBinary)
	}))
	t.Cleanup(server.Close)
	must(t, environment.Machine.Forward(ctx, agentPort, strings.TrimPrefix(server.URL, "http://")))
	sum := sha512.Sum512(content)
	return []string{
		"--format", "ignition", "--agent-url", "http://127.0.0.1:8443/hcp-node-agent",
		"--agent-sha512", hex.EncodeToString(sum[:]),
	}
}

// derivedUserData returns user data with which the machine enrolls, whose CSRs the controller approves, and serves the
// agent to the machine.
func derivedUserData(ctx context.Context, t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	userData, err := environment.ControlPlane.CurrentUserData(ctx)
	must(t, err)
	plain := filepath.Join(dir, "user-data.ign")
	must(t, os.WriteFile(plain, userData, 0o600))
	kubeconfig := environment.ControlPlane.Kubeconfig
	must(t, adminCommand(ctx, t, append(serveAgent(ctx, t), "enroll", "--offline", "workers",
		testenv.NodeName+"="+uplinkAddress(ctx, t), "--label", "example.com/rack=7", "--hosted-kubeconfig", kubeconfig,
		"--output-dir", dir, "--embed-user-data", plain)...).Run())
	_, record := enrollment.Paths(dir, testenv.NodeName)
	startController(ctx, t, record)
	derived, err := os.ReadFile(enrollment.HostPath(dir, testenv.NodeName, ".ign"))
	must(t, err)
	return derived
}

// checkOnlyOwnFiles checks that the join has changed no other files than those of the agent: the ledger contains no
// others, and each file of the payload has the content with which Ignition wrote it.
func checkOnlyOwnFiles(ctx context.Context, t *testing.T, image string) {
	t.Helper()
	preview := runAgent(ctx, t, report.Success, "leave --dry-run").Stdout
	for line := range strings.Lines(preview) {
		kind, target, _ := strings.Cut(strings.TrimLeft(line, " -~"), " ")
		target = strings.TrimSpace(target)
		isSnapshot := strings.HasPrefix(target, "/etc/kubernetes/kubelet-plugins/") // pods can replace the files
		if kind == "file" && strings.HasPrefix(target, "/etc") && !strings.Contains(target, "hcp") && !isSnapshot {
			t.Errorf("the join has changed %s", target)
		}
	}
	content, err := json.Marshal(nativePayload(t, image))
	must(t, err)
	payload, err := ignition.LoadPayload(content)
	must(t, err)
	var sums strings.Builder
	for _, file := range payload.Config.Storage.Files {
		if file.Path != ignition.MachineConfigPath { // the units of the payload rename it
			content, _, _ := payload.File(file.Path)
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), file.Path)
		}
	}
	must(t, environment.Machine.Put(ctx, "/run/sums", strings.NewReader(sums.String()), 0o600))
	mustOutput(ctx, t, "sha256sum --check --quiet /run/sums")
}

// upgradeImage upgrades the node to a release with another image, and checks that pods ran while it was staged.
func upgradeImage(ctx context.Context, t *testing.T) {
	t.Helper()
	image := pushNodeImage(t, nextImage, nodeimage.NextRelease, nil)
	payload := nativePayload(t, image)
	payload.SetFile(addedFile, "added = yes\n")
	config, err := payload.File(ignition.MachineConfigPath)
	must(t, err)
	payload.SetFile(ignition.MachineConfigPath, strings.Replace(config, `,"psi=0"`, "", 1))
	serve(ctx, t, payload)
	must(t, environment.CopyInputs(ctx))
	must(t, environment.Machine.RestartBy(ctx, func() error {
		out := runUntilOutput(ctx, t, "hcp-node-agent "+upgradeCommand, "staging the image of the payload", func() {
			if mustOutput(ctx, t, containersCommand) == "" {
				t.Error("no static pod runs while the image is staged")
			}
		})
		t.Logf("upgrade:\n%s", out)
		checkContains(t, out, "the node is cordoned and drained", "rebooting the host into the image")
		return nil
	}))
	await(ctx, t, "journalctl -b -u hcp-node-agent -o cat | grep '"+testenv.NodeName+" is upgraded'")
	t.Log(mustOutput(ctx, t, "journalctl -b --no-pager -o cat -u hcp-node-agent"))
	awaitReadyNode(ctx, t)
	checkImage(ctx, t, image, nextImage)
	mustOutput(ctx, t, "cat "+addedFile+" && ! grep -w psi=0 /proc/cmdline")
	if isCordoned(ctx, t) {
		t.Error("the node is still cordoned")
	}
	_, err = environment.RunPod(ctx, "second")
	must(t, err)
	must(t, environment.DeletePods(ctx))
}

// rollBackImage upgrades the node to a release whose kubelet does not start. The agent boots the image before it again,
// with its untouched /etc, and refuses to boot the failed image another time.
func rollBackImage(ctx context.Context, t *testing.T) {
	t.Helper()
	before := mustOutput(ctx, t, "cat /etc/hcp-node-agent/applied-payload "+addedFile)
	image := pushNodeImage(t, brokenImage, nodeimage.NextRelease, map[string]string{
		"usr/lib/systemd/system/kubelet.service.d/50-broken.conf": "[Service]\nRestart=no\nExecStartPre=/bin/false\n",
	})
	payload := nativePayload(t, image)
	payload.SetFile(addedFile, "added = other\n")
	payload.SetFile("/etc/demo.d/broken.conf", "of = the broken image\n")
	serve(ctx, t, payload)
	good, err := environment.BootedDigest(ctx)
	must(t, err)
	runUpgradeUntilReboot(ctx, t)
	must(t, environment.AwaitOSImage(ctx, "image@"+good))
	await(ctx, t, "journalctl -b -u hcp-node-agent -o cat | grep '"+testenv.NodeName+" is rolled back'")
	t.Log(mustOutput(ctx, t,
		"for boot in -1 0; do journalctl -b $boot --no-pager -o cat -u hcp-node-agent; done"))
	awaitReadyNode(ctx, t)
	if now := mustOutput(ctx, t, "cat /etc/hcp-node-agent/applied-payload "+addedFile); now != before {
		t.Errorf("/etc was changed:\n%s\nbefore:\n%s", now, before)
	}
	_, digest, _ := strings.Cut(image, "@")
	checkContains(t, runAgent(ctx, t, report.Success, "status").Stdout, "no drift", "failed image", digest)
	if isCordoned(ctx, t) {
		t.Error("the node is still cordoned")
	}
	refused := runAgent(ctx, t, report.Refused, upgradeCommand)
	checkContains(t, refused.Stdout+refused.Stderr, "has failed on this host", "--retry-image")
	_, err = environment.RunPod(ctx, "third")
	must(t, err)
}

// pushNodeImage pushes a node image of a release, with more files.
func pushNodeImage(t *testing.T, version string, packages, files map[string]string) string {
	t.Helper()
	all := map[string]string{testenv.MetadataFile: nodeimage.Metadata(t, packages)}
	maps.Copy(all, files)
	image, err := environment.PushNodeImage(version, all)
	must(t, err)
	return image
}

// nativePayload returns the payload for a host of RHCOS.
func nativePayload(t *testing.T, image string) testenv.Payload {
	t.Helper()
	payload, err := environment.NativePayload(image)
	must(t, err)
	return payload
}

// checkImage checks that the machine runs an image with a version.
func checkImage(ctx context.Context, t *testing.T, image, version string) {
	t.Helper()
	booted, err := environment.BootedDigest(ctx)
	must(t, err)
	if _, want, _ := strings.Cut(image, "@"); booted != want {
		t.Errorf("image %s is booted, want %s", booted, want)
	}
	checkContains(t, mustOutput(ctx, t, "cat "+testenv.VersionFile), version)
}
