// SPDX-License-Identifier: Apache-2.0

//go:build vm

// Package ostree tests the machine that boots from an OSTree deployment, as the other tests expect it.
package ostree

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
)

// start starts a machine of the class with the live state of a booted machine.
func start(ctx context.Context, t *testing.T, class vm.Class) (m *vm.Machine, baseID string) {
	t.Helper()
	lan, err := vm.NewLAN(ctx)
	check(t, err)
	t.Cleanup(func() { lan.Close() })
	image, err := vm.BuildOSTreeImage(ctx, filepath.Join("..", "..", ".."), class, t.Output())
	check(t, err)
	id, err := os.ReadFile(filepath.Join(image, "base-id"))
	check(t, err)
	m, err = vm.FromSnapshot(ctx, vm.Config{Image: image, Network: lan.Network, Dir: t.TempDir()})
	check(t, err)
	t.Cleanup(func() { m.Close() })
	return m, string(id)
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
	t.Cleanup(cancel)
	return ctx
}

// TestRHCOS checks the class without an image in the origin of its deployment.
func TestRHCOS(t *testing.T) {
	ctx := testContext(t)
	m, _ := start(ctx, t, vm.RHCOS)
	status := gatherStatus(ctx, t, m)
	booted := status.Status.Booted
	if booted == nil || booted.Image != nil || booted.Incompatible ||
		status.Status.Type != nil || status.Spec.Image != nil {
		t.Errorf("the status of a host without an image is %+v", status)
	}
	expect(ctx, t, m, `. /etc/os-release; echo "$ID $VARIANT_ID $OPENSHIFT_VERSION"`, "rhel coreos 4.20")
	expect(ctx, t, m, "rpm-ostree status --json | jq -r '.deployments[0].origin == .deployments[0].checksum'", "true")
}

// testLayout checks the layout of RHCOS and the properties that the agent finds on such a host.
func testLayout(ctx context.Context, t *testing.T, m *vm.Machine) {
	expect(ctx, t, m, "test -e /run/ostree-booted && systemctl is-system-running --wait", "running")
	const isWritable = `for d in %s; do touch "$d/x" && rm "$d/x" && echo "$d"; done`
	expect(ctx, t, m, fmt.Sprintf(isWritable, "/ /usr /usr/bin /sysroot /boot"), "")
	expect(ctx, t, m, fmt.Sprintf(isWritable, "/etc /var /opt /usr/local/bin /root /home"),
		"/etc\n/var\n/opt\n/usr/local/bin\n/root\n/home")
	expect(ctx, t, m, "readlink /opt /usr/local /root /home", "var/opt\n../var/usrlocal\nvar/roothome\nvar/home")
	expect(ctx, t, m, `. /etc/os-release; echo "$ID $VERSION_ID $VARIANT_ID"`, "rhel 9.6 ")
	expect(ctx, t, m, "which dnf grubby firewalld; systemctl is-active kubelet crio openvswitch",
		"inactive\ninactive\ninactive")
	expect(ctx, t, m, "journalctl -b -u NetworkManager -o cat | grep -c 'Loaded device plugin: NMOvsFactory'", "1")
	expect(ctx, t, m, "systemctl start openvswitch crio && systemctl is-active openvswitch crio", "active\nactive")
}

// testPowerCut stages a deployment and cuts the power: the staged deployment exists only in /run.
func testPowerCut(ctx context.Context, t *testing.T, m *vm.Machine) {
	output(ctx, t, m, "rpm-ostree kargs --append-if-missing=test.lost=1 && sync")
	if gatherStatus(ctx, t, m).Status.Staged == nil {
		t.Fatal("no deployment is staged")
	}
	check(t, m.Kill(ctx))
	check(t, m.Boot(ctx))
	_, err := m.WaitBoot(ctx)
	check(t, err)
	expect(ctx, t, m, "grep -c test.lost /proc/cmdline; true", "0")
	if status := gatherStatus(ctx, t, m); status.Status.Staged != nil || status.Status.Rollback != nil {
		t.Errorf("the power cut did not remove the staged deployment: %+v", status)
	}
}

// hostStatus has the fields of bootc status that the tests use; see docs/src/host-v1.schema.json of bootc.
type hostStatus struct {
	APIVersion string
	Spec       struct {
		Image     *struct{ Image, Transport string }
		BootOrder string
	}
	Status struct {
		Staged, Booted, Rollback *entry
		RollbackQueued           bool
		Type                     *string
	}
}

type entry struct {
	Image *struct {
		ImageDigest, Architecture string
		Version                   *string
	}
	Incompatible bool
	OSTree       struct {
		Stateroot, Checksum string
		DeploySerial        int
	}
}

func (e *entry) digest() string {
	if e == nil || e.Image == nil {
		return ""
	}
	return e.Image.ImageDigest
}

func gatherStatus(ctx context.Context, t *testing.T, m *vm.Machine) hostStatus {
	t.Helper()
	var status hostStatus
	out := output(ctx, t, m, "bootc status --format=json --format-version=1")
	if err := json.Unmarshal([]byte(out), &status); err != nil || status.APIVersion != "org.containers.bootc/v1" {
		t.Fatalf("parsing the status: %v\n%s", err, out)
	}
	return status
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func output(ctx context.Context, t *testing.T, m *vm.Machine, command string) string {
	t.Helper()
	out, err := m.Output(ctx, command)
	check(t, err)
	return out
}

// expect checks the output of a command, whose exit code is ignored.
func expect(ctx context.Context, t *testing.T, m *vm.Machine, command, want string) {
	t.Helper()
	result, err := m.Run(ctx, command)
	check(t, err)
	if got := strings.TrimSuffix(result.Stdout, "\n"); got != want {
		t.Errorf("%s: got %q, want %q; stderr: %s", command, got, want, result.Stderr)
	}
}
