// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// TestSoftwareOfTheOSImage joins a machine without kubelet and CRI-O from the user data alone. They
// come from the node layer of the OS image, which is read from a mirror with the pull secret. The disk
// is full at first. Then the join is killed while it unpacks, and the power is cut while it puts the software
// at its usual paths. Afterwards the node is upgraded to other software.
func TestSoftwareOfTheOSImage(t *testing.T) {
	ctx := newContext(t)
	source := moveNodeFiles(ctx, t)
	must(t, environment.ControlPlane.ReplacePayload(ctx, payloadWithOSImage(t, pushNodeImage(t, source, firstRelease))))
	before := hostState(ctx, t)

	mustOutput(ctx, t, "fallocate -l $(($(df --output=avail -B1 / | tail -1) - 100000000)) /var/tmp/fill")
	refused := runAgent(ctx, t, report.Refused, joinCommand)
	checkContains(t, refused.Stdout, "the software of the OS image requires ", " MB on the file system of ", "df -h ")
	mustOutput(ctx, t, "rm /var/tmp/fill; ! ls -d /usr/libexec/hcp-node-agent /usr/bin/kubelet 2>/dev/null")

	runUntilOutput(ctx, t, "hcp-node-agent "+joinCommand, "unpacking the node layer", func() {
		mustOutput(ctx, t, "pkill -KILL -x hcp-node-agent")
	})
	runUntilOutput(ctx, t, "{ until ls /usr/bin/kubelet; do :; done 2>/dev/null & } ; hcp-node-agent "+joinCommand, "(?m)^/usr/bin/kubelet$", func() { must(t, environment.Machine.Kill(ctx)) })
	bootWithoutService(ctx, t)
	began := time.Now()
	result := runAgent(ctx, t, report.Success, joinCommand)
	t.Logf("after %s:\n%s", time.Since(began).Round(time.Second), result.Stdout)
	checkContains(t, result.Stdout, testenv.NodeName+" is Ready and schedulable")
	checkContains(t, mustOutput(ctx, t, "readlink -f /usr/bin/kubelet /usr/bin/crio; ls /var/lib/hcp-node-agent"),
		"/usr/libexec/hcp-node-agent/software/sha256-", "/usr/bin/kubelet", "software.json")
	mustOutput(ctx, t, "! ls /var/lib/hcp-node-agent/node-layer 2>/dev/null")
	_, err := environment.RunPod(ctx, "with-software-of-the-image")
	must(t, err)
	runAgent(ctx, t, report.Success, "status")

	upgradeNode(ctx, t, pushNodeImage(t, source, nextRelease))

	must(t, environment.DeletePods(ctx))
	runAgent(ctx, t, report.Success, "leave")
	mustOutput(ctx, t, "! ls -d /usr/libexec/hcp-node-agent /usr/bin/kubelet /usr/bin/crio 2>/dev/null")
	checkHostState(ctx, t, before)
}

// bootWithoutService boots the machine, and stops the service, which resumes an interrupted join.
func bootWithoutService(ctx context.Context, t *testing.T) {
	t.Helper()
	must(t, environment.Machine.Boot(ctx))
	must(t, environment.Machine.WaitSSH(ctx))
	mustOutput(ctx, t, "systemctl stop hcp-node-agent")
}

// pushNodeImage pushes a new OS image with the node files, which are in source, in its node layer. It
// returns the pull spec, which refers to a mirrored registry.
func pushNodeImage(t *testing.T, source string, versions map[string]string) string {
	t.Helper()
	root := installNodePackages(t, source, versions)
	metadata, err := json.Marshal(map[string][][5]string{"rpmdb.pkglist": {
		packageEntry("cri-o", versions),
		packageEntry("openshift-kubelet", versions),
		{"redhat-release", "0", "9.6", "0.1.el9", "x86_64"},
	}})
	must(t, err)
	metadataRoot := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(metadataRoot, "usr/share/openshift/base"), 0o755)) //nolint:gosec // as in an image
	must(t, os.WriteFile(filepath.Join(metadataRoot, "usr/share/openshift/base/meta.json"), metadata, 0o600))

	image := empty.Image
	for _, layer := range []struct{ root, command string }{
		{t.TempDir(), "ostree chunk"},
		{root, "/bin/sh -c /run/src/build-node-image.sh"},
		{metadataRoot, "COPY --from=metadata /usr/share/openshift /usr/share/openshift"},
	} {
		image, err = mutate.Append(image, mutate.Addendum{
			Layer:   static.NewLayer(packLayer(t, layer.root), types.DockerLayer),
			History: v1.History{CreatedBy: layer.command},
		})
		must(t, err)
	}
	config, err := image.ConfigFile()
	must(t, err)
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Labels = map[string]string{"io.openshift.metalayer": "true", "version": "9.6.20251028-0"}
	image, err = mutate.ConfigFile(image, config)
	must(t, err)
	return strings.Replace(pushImage(t, image), environment.ControlPlane.Registry, "quay.io", 1)
}

// packageEntry returns the entry of a package in the metadata of an OS image.
func packageEntry(name string, versions map[string]string) [5]string {
	version, release, _ := strings.Cut(versions[name], "-")
	return [5]string{name, "0", version, release, "x86_64"}
}

// installNodePackages returns a root directory in which rpm has installed packages of the node files.
func installNodePackages(t *testing.T, source string, versions map[string]string) string {
	t.Helper()
	env := rpms.New(t)
	buildNodePackages(env, source, versions, "release")
	found, err := filepath.Glob(filepath.Join(env.Dir, "release/*/*.rpm"))
	must(t, err)
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(root, 0o755)) //nolint:gosec // as in an image
	env.Run("rpm", append([]string{"--root", root, "--dbpath", "/usr/share/rpm", "--nodeps", "--install"}, found...)...)
	return root
}

// packLayer returns a directory as the layer of an image.
func packLayer(t *testing.T, root string) []byte {
	t.Helper()
	archive, err := exec.Command("tar", "-I", "gzip -1", "-C", root, "-c", "--sort=name", ".").Output()
	must(t, err)
	return archive
}

// repository is mirrored by registries.conf of the payload, under the host name quay.io.
const repository = "openshift-release-dev/os"

// pushImage pushes an image to the registry of the control plane, and returns its pull spec.
func pushImage(t *testing.T, image v1.Image) string {
	t.Helper()
	digest, err := image.Digest()
	must(t, err)
	reference, err := name.NewDigest(environment.ControlPlane.RegistryForward+"/"+repository+"@"+digest.String(), name.Insecure)
	must(t, err)
	content, err := os.ReadFile(environment.ControlPlane.PullSecret)
	must(t, err)
	var secret struct{ Auths map[string]authn.AuthConfig }
	must(t, json.Unmarshal(content, &secret))
	login := authn.FromConfig(secret.Auths[environment.ControlPlane.Registry])
	must(t, remote.Write(reference, image, remote.WithAuth(login)))
	return environment.ControlPlane.Registry + "/" + repository + "@" + digest.String()
}
