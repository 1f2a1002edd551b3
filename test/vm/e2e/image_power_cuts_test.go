// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/nodeimage"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// TestPowerCutsOfAnImage cuts the power at each instant of an upgrade to another image. The host then runs one of both
// images with its payload, and the node is Ready and schedulable, without a command. Before, it tries images that the
// host must refuse, and at last, it restores the first image.
func TestPowerCutsOfAnImage(t *testing.T) {
	ctx := newContextFor(t, 2*time.Hour)
	image := pushNodeImage(t, firstImage, nodeimage.FirstRelease, nil)
	provision(ctx, t, image, derivedUserData(ctx, t))
	await(ctx, t, "systemctl is-active hcp-node-agent")
	awaitReadyNode(ctx, t)
	refuseImages(ctx, t)
	cut := func() { must(t, environment.Machine.Kill(ctx)) }
	afterBoot := func(pattern string) func() {
		return func() {
			runUpgradeUntilReboot(ctx, t)
			await(ctx, t, "journalctl -b -u hcp-node-agent -o cat | grep -q '"+pattern+"'")
			cut()
		}
	}
	duringUpgrade := func(pattern string) func() {
		return func() { runUntilOutput(ctx, t, "hcp-node-agent "+upgradeCommand, pattern, cut) }
	}
	for i, instant := range []struct {
		name string
		cut  func()
	}{
		{"while the image is pulled", duringUpgrade("staging the image of the payload")},
		{"when it is staged", duringUpgrade("boots next")},
		{"when the node is drained", duringUpgrade("the node is cordoned and drained")},
		{"while the host shuts down", duringUpgrade("rebooting the host into the image")},
		{"in the image, before the files", afterBoot("resuming the upgrade")},
		{"in the image, before the end", afterBoot("kubelet v.* is healthy")},
	} {
		version := fmt.Sprintf("9.6.2026010%d-0", i+1)
		if !t.Run(instant.name, func(t *testing.T) {
			next := pushNodeImage(t, version, nodeimage.NextRelease, nil)
			payload := nativePayload(t, next)
			payload.SetFile(addedFile, version)
			serve(ctx, t, payload)
			before, err := environment.BootedDigest(ctx)
			must(t, err)
			instant.cut()
			must(t, environment.Machine.Boot(ctx))
			awaitConverged(ctx, t, before, next, version)
		}) {
			return
		}
	}
	restoreImage(ctx, t, image)
}

// restoreImage removes the node, and restores the image with which it joined. The host remains as Ignition has
// provisioned it, and can join again.
func restoreImage(ctx context.Context, t *testing.T, first string) {
	t.Helper()
	must(t, environment.DeletePods(ctx))
	left := runAgent(ctx, t, report.Success, "leave --restore-image")
	checkContains(t, left.Stdout, "the host runs "+first+" from its next boot", "Ignition wrote at the first boot, remain")
	must(t, environment.Machine.Reboot(ctx))
	checkImage(ctx, t, first, firstImage)
	mustOutput(ctx, t, "! systemctl is-active kubelet && ! ls /var/lib/hcp-node-agent/*.json 2>/dev/null")

	must(t, environment.Reset(ctx))
	serve(ctx, t, nativePayload(t, first))
	runAgent(ctx, t, report.Success, joinCommand)
	checkContains(t, runAgent(ctx, t, report.Success, "status").Stdout, "Ready and schedulable", "no drift")
}

// runUpgradeUntilReboot runs an upgrade that reboots the host, and waits for the boot.
func runUpgradeUntilReboot(ctx context.Context, t *testing.T) {
	t.Helper()
	must(t, environment.Machine.RestartBy(ctx, func() error {
		runUntilOutput(ctx, t, "hcp-node-agent "+upgradeCommand, "rebooting the host into the image", func() {})
		return nil
	}))
}

// awaitConverged waits, after a power cut, until the host runs the image before or the next one with its payload, which
// contains the version in a file, and the node is Ready and schedulable.
func awaitConverged(ctx context.Context, t *testing.T, before, next, version string) {
	t.Helper()
	const isIdle = "hcp-node-agent status --output json | jq -e '.phase == \"joined\" and (.deployments.staged | not)'"
	awaitAcrossBoots(ctx, t, isIdle+" && systemctl is-active hcp-node-agent kubelet")
	awaitReadyNode(ctx, t)
	booted, err := environment.BootedDigest(ctx)
	must(t, err)
	_, want, _ := strings.Cut(next, "@")
	t.Logf("the host runs the next image: %t", booted == want)
	if booted != want && booted != before {
		t.Errorf("image %s is booted, which is neither %s nor %s", booted, before, want)
	}
	hasFile := mustOutput(ctx, t, "cat "+addedFile+" 2>/dev/null || true") == version
	if hasFile != (booted == want) {
		t.Errorf("the files of the next payload are written: %t", hasFile)
	}
	checkContains(t, runAgent(ctx, t, report.Success, "status").Stdout, "no drift")
	if isCordoned(ctx, t) {
		t.Error("the node is cordoned")
	}
}

// awaitAcrossBoots waits until a command succeeds in the machine, which can reboot meanwhile.
func awaitAcrossBoots(ctx context.Context, t *testing.T, command string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, waittest.Timeout)
	defer cancel()
	for {
		err := environment.Machine.WaitSSH(ctx)
		if err == nil {
			_, err = environment.Machine.Output(ctx, command)
		}
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waiting for %q: %v", command, err)
		case <-time.After(3 * time.Second):
		}
	}
}
