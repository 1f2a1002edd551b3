// SPDX-License-Identifier: Apache-2.0

//go:build vm

package ostree

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/hcp-node-agent/hcp-node-agent/test/ostree"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
)

// The machine pulls from repository, whose mirror in registries.conf is the test's registry at a port of
// the machine.
const (
	repository   = "quay.io/test/node"
	registryPort = 5000
	mirror       = `[[registry]]
location = "quay.io/test"
[[registry.mirror]]
location = "localhost:5000"
insecure = true
`
)

// images is a registry with images for the machine.
type images struct {
	*httptest.Server
	base v1.Image
}

// host returns the registry's address, HOST:PORT.
func (r images) host() string { return strings.TrimPrefix(r.URL, "http://") }

func newImages(t *testing.T, baseID string) images {
	t.Helper()
	base, err := ostree.BaseImage(baseID)
	check(t, err)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return images{Server: server, base: base}
}

// push pushes an image and returns its reference in the machine, and its digest.
func (r images) push(t *testing.T, image v1.Image) (reference, digest string) {
	t.Helper()
	hash, err := image.Digest()
	check(t, err)
	ref, err := name.NewDigest(r.host() + "/node@" + hash.String())
	check(t, err)
	check(t, remote.Write(ref, image))
	return repository + "@" + hash.String(), hash.String()
}

// TestDeployments tests the life of deployments in one machine: a staged deployment is lost by a power
// cut, activated by a clean reboot, and rolled back.
func TestDeployments(t *testing.T) {
	ctx := testContext(t)
	m, baseID := start(ctx, t, vm.RHELBootc)
	server := newImages(t, baseID)
	t.Run("layout", func(t *testing.T) { testLayout(ctx, t, m) })
	t.Run("power cut", func(t *testing.T) { testPowerCut(ctx, t, m) })
	check(t, m.Forward(ctx, registryPort, server.host()))
	check(t, m.Put(ctx, "/etc/containers/registries.conf.d/test.conf", strings.NewReader(mirror), 0o644))
	t.Run("refused", func(t *testing.T) { testRefused(ctx, t, m, server) })
	if !t.Run("switch and roll back", func(t *testing.T) { testSwitch(ctx, t, m, server) }) {
		t.Log(output(ctx, t, m, "ostree admin status; journalctl -b -1 -u ostree-finalize-staged -o cat"))
	}
}

// testRefused checks that images and commands are refused without a change.
func testRefused(ctx context.Context, t *testing.T, m *vm.Machine, server images) {
	noLabel, err := ostree.SetLabels(server.base, map[string]string{"containers.bootc": "", "ostree.bootable": ""})
	check(t, err)
	config, err := server.base.ConfigFile()
	check(t, err)
	config = config.DeepCopy()
	config.Architecture = "arm64"
	foreign, err := mutate.ConfigFile(server.base, config)
	check(t, err)
	withoutLabel, _ := server.push(t, noLabel)
	ofOther, _ := server.push(t, foreign)
	for _, c := range []struct {
		command, want string
		code          int
	}{
		{"bootc switch " + withoutLabel, "error: Target image does not have ostree.bootable label", 1},
		{"bootc switch " + ofOther, "error: Image has architecture arm64; expected amd64", 1},
		{"bootc switch localhost:5000/node@sha256:" + strings.Repeat("0", 64), "MANIFEST_UNKNOWN", 1},
		{"bootc rollback", "error: No rollback available", 1},
		{"bootc status --format-version=2", "error: Unsupported format version: 2", 1},
		{"bootc install", "error: usage", 2},
		{"rpm-ostree rollback", "error: No rollback deployment found", 1},
		{"rpm-ostree kargs --delete=nothing", "error: No karg 'nothing' found", 1},
		{"rpm-ostree kargs --delete-if-present=nothing --unchanged-exit-77", "", 77},
		{
			"rpm-ostree rebase ostree-unverified-registry:registry.redhat.io/rhel9/rhel-bootc:9.6",
			"error: Old and new refs are equal", 1,
		},
	} {
		result, err := m.Run(ctx, c.command)
		check(t, err)
		if result.ExitCode != c.code || !strings.Contains(result.Stderr, c.want) {
			t.Errorf("%s: exit code %d, stderr %q; want %d, %q", c.command, result.ExitCode, result.Stderr, c.code, c.want)
		}
	}
	if gatherStatus(ctx, t, m).Status.Staged != nil {
		t.Error("a refused command staged a deployment")
	}
}

// testSwitch switches to another image and changes the kernel arguments, reboots, rolls back and reboots.
func testSwitch(ctx context.Context, t *testing.T, m *vm.Machine, server images) {
	image, err := ostree.Derive(server.base, "9.6.2", map[string]string{
		"etc/new.conf": "new default\n", "etc/issue": "new default\n", "etc/issue.net": "new default\n",
		"usr/bin/new": "#!/bin/sh\necho new\n",
	})
	check(t, err)
	reference, digest := server.push(t, image)
	first := gatherStatus(ctx, t, m)

	output(ctx, t, m, "echo changed here >/etc/issue; echo from before >/etc/before; bootc switch "+reference)
	expect(ctx, t, m, "bootc switch "+reference, "Image specification is unchanged.")
	output(ctx, t, m, "rpm-ostree kargs --append-if-missing=test.switched=1")
	staged := gatherStatus(ctx, t, m)
	if staged.Status.Staged.digest() != digest || staged.Spec.Image == nil || staged.Spec.Image.Image != reference {
		t.Fatalf("the staged image is not %s: %+v", reference, staged)
	}
	output(ctx, t, m, "echo from after staging >/etc/after")
	check(t, m.Reboot(ctx))

	expect(ctx, t, m, "systemctl is-system-running; grep -c test.switched=1 /proc/cmdline; new", "running\n1\nnew")
	expect(ctx, t, m, "cat /etc/new.conf /etc/issue /etc/issue.net /etc/before /etc/after",
		"new default\nchanged here\nnew default\nfrom before\nfrom after staging")
	expect(ctx, t, m, "journalctl -b -1 -u ostree-finalize-staged -o cat | grep -c 'Finished writing deployment'", "1")
	switched := gatherStatus(ctx, t, m)
	if switched.Status.Booted.digest() != digest || switched.Status.Staged != nil ||
		switched.Status.Rollback.digest() != first.Status.Booted.digest() {
		t.Fatalf("%s is not booted with the former image as rollback: %+v", digest, switched)
	}

	output(ctx, t, m, "echo only here >/etc/only; echo in var >/var/lib/both; bootc rollback")
	if queued := gatherStatus(ctx, t, m); !queued.Status.RollbackQueued || queued.Spec.BootOrder != "rollback" {
		t.Errorf("no rollback is queued: %+v", queued)
	}
	check(t, m.Reboot(ctx))
	expect(ctx, t, m, "grep -c test.switched=1 /proc/cmdline; cat /etc/issue /etc/before /var/lib/both;"+
		" ls /etc/only /etc/new.conf /usr/bin/new", "0\nchanged here\nfrom before\nin var")
	if back := gatherStatus(ctx, t, m); back.Status.Booted.OSTree != first.Status.Booted.OSTree {
		t.Errorf("booted %+v after the rollback, want %+v", back.Status.Booted, first.Status.Booted)
	}
}
