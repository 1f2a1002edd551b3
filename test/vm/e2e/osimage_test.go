// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

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

// nodePackages are the files of the packages that the test moves from the machine into an OS image.
var nodePackages = map[string][]string{
	"openshift-kubelet-4.21.0-202510291212.p0.el9": {"/usr/bin/kubelet"},
	"cri-o-1.34.0-2.rhaos4.21.el9": {
		"/usr/bin/crio", "/usr/bin/pinns", "/usr/lib/systemd/system/crio.service", "/usr/lib/systemd/system/crio-wipe.service",
	},
}

// TestSoftwareOfTheOSImage joins a machine without kubelet and CRI-O from the user data alone. They
// come from the node layer of the OS image. The join is killed while it downloads and while it
// unpacks.
func TestSoftwareOfTheOSImage(t *testing.T) {
	ctx := newContext(t)
	must(t, environment.ControlPlane.ReplacePayload(ctx, payloadWithOSImage(t, pushNodeImage(ctx, t))))
	before := hostState(ctx, t)

	runUntilOutput(ctx, t, "hcp-node-agent "+joinCommand, "downloading the node layer of the OS image: ", func() {
		mustOutput(ctx, t, "pkill -KILL -x hcp-node-agent")
	})
	runUntilOutput(ctx, t, "hcp-node-agent "+joinCommand, "unpacking the node layer", func() {
		mustOutput(ctx, t, "pkill -KILL -x hcp-node-agent")
	})
	result := runAgent(ctx, t, report.Success, joinCommand)
	checkContains(t, result.Stdout, "unpacked openshift-kubelet-4.21.0-202510291212.p0.el9, cri-o-1.34.0-2.rhaos4.21.el9 from the OS image", testenv.NodeName+" is Ready and schedulable")
	checkContains(t, mustOutput(ctx, t, "readlink -f /usr/bin/kubelet /usr/bin/crio; ls /var/lib/hcp-node-agent"),
		"/usr/libexec/hcp-node-agent/software/sha256-", "/usr/bin/kubelet", "software.json")
	_, err := environment.RunPod(ctx, "with-software-of-the-image")
	must(t, err)
	runAgent(ctx, t, report.Success, "status")

	must(t, environment.DeletePods(ctx))
	runAgent(ctx, t, report.Success, "leave")
	mustOutput(ctx, t, "! ls -d /usr/libexec/hcp-node-agent /usr/bin/kubelet /usr/bin/crio 2>/dev/null")
	checkHostState(ctx, t, before)
}

// pushNodeImage moves kubelet and CRI-O from the machine into the node layer of a new OS image, and
// pushes the image. It returns the pull spec.
func pushNodeImage(ctx context.Context, t *testing.T) string {
	t.Helper()
	root := installNodePackages(ctx, t)
	metadata, err := json.Marshal(map[string][][5]string{"rpmdb.pkglist": {
		{"cri-o", "0", "1.34.0", "2.rhaos4.21.el9", "x86_64"},
		{"openshift-kubelet", "0", "4.21.0", "202510291212.p0.el9", "x86_64"},
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
	return pushImage(t, image)
}

// installNodePackages builds RPMs of files that it removes from the machine, and returns a root
// directory in which rpm has installed them.
func installNodePackages(ctx context.Context, t *testing.T) string {
	t.Helper()
	env, source := rpms.New(t), t.TempDir()
	for nvr, files := range nodePackages {
		list := strings.Join(files, " ")
		packed, err := base64.StdEncoding.DecodeString(mustOutput(ctx, t, "tar -C / -c "+strings.ReplaceAll(list, " /", " ")[1:]+" | gzip -1 | base64 -w0"))
		must(t, err)
		unpack := exec.CommandContext(ctx, "tar", "-C", source, "-xz")
		unpack.Stdin = bytes.NewReader(packed)
		must(t, unpack.Run())
		mustOutput(ctx, t, "rm "+list)
		release := strings.LastIndex(nvr, "-")
		version := strings.LastIndex(nvr[:release], "-")
		spec := env.Write(nvr+".spec", "%define debug_package %{nil}\n%define __os_install_post %{nil}\nAutoReqProv: no\nName: "+nvr[:version]+"\nVersion: "+nvr[version+1:release]+
			"\nRelease: "+nvr[release+1:]+"\nSummary: Stands in for the real one\nLicense: Apache-2.0\n%description\nIt has the files of the test machine.\n"+
			"%install\nfor f in "+list+"; do install -D "+source+"$f %{buildroot}$f; done\n%files\n"+strings.Join(files, "\n")+"\n")
		env.Run("rpmbuild", "-bb", "--quiet", "--define", "_topdir "+filepath.Join(env.Dir, "build"), "--define", "_build_id_links none", spec)
	}
	mustOutput(ctx, t, "systemctl daemon-reload")
	found, err := filepath.Glob(filepath.Join(env.Dir, "build/RPMS/*/*.rpm"))
	must(t, err)
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(root, 0o755)) //nolint:gosec // as in an image
	env.Run("rpm", append([]string{"--root", root, "--dbpath", "/usr/share/rpm", "--nodeps", "--install"}, found...)...)
	return root
}

// packLayer returns a directory as the layer of an image.
func packLayer(t *testing.T, root string) []byte {
	t.Helper()
	archive, err := exec.Command("tar", "-C", root, "-c", "--sort=name", ".").Output()
	must(t, err)
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	must(t, err)
	_, err = w.Write(archive)
	must(t, err)
	must(t, w.Close())
	return packed.Bytes()
}

// pushImage pushes an image to the registry of the control plane, and returns its pull spec.
func pushImage(t *testing.T, image v1.Image) string {
	t.Helper()
	digest, err := image.Digest()
	must(t, err)
	reference, err := name.NewDigest(environment.ControlPlane.RegistryForward+"/release/os@"+digest.String(), name.Insecure)
	must(t, err)
	content, err := os.ReadFile(environment.ControlPlane.PullSecret)
	must(t, err)
	var secret struct{ Auths map[string]authn.AuthConfig }
	must(t, json.Unmarshal(content, &secret))
	login := authn.FromConfig(secret.Auths[environment.ControlPlane.Registry])
	must(t, remote.Write(reference, image, remote.WithAuth(login)))
	return environment.ControlPlane.Registry + "/release/os@" + digest.String()
}
