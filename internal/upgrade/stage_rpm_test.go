// SPDX-License-Identifier: Apache-2.0

//go:build rpm

package upgrade

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/mountns"
	"github.com/hcp-node-agent/hcp-node-agent/test/registrytest"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
)

// After the stage step, dnf needs no repository: neither in the same run, nor in a later one.
func TestStagedPackagesNeedNoRepository(t *testing.T) {
	b := rpms.New(t)
	key := b.GenerateKey("mirror")
	b.Build(
		"site", "openshift-kubelet-4.18.7-1.el9", "openshift-kubelet-4.19.5-1.el9", "cri-o-1.31.4-1.el9",
		"cri-o-1.32.1-1.el9",
		"conmon-2-1.el9", "crun-1-1.el9", "container-selinux-2-1.el9", "openvswitch3.5-3.5.0-1.el9fdp",
		"NetworkManager-ovs-1.48.0-1.el9")
	b.Sign("site", "mirror")
	b.UpdateRepository("site")
	server := httptest.NewServer(http.FileServer(http.Dir(b.Dir)))
	defer server.Close()
	b.ConfigureRepository("site", "enabled=1", "baseurl="+server.URL+"/site", "gpgkey="+server.URL+"/"+filepath.Base(key))
	flowtest.NoError(t, software.Install(t.Context(), b.Root, report.Log{}, "openshift-kubelet-4.18.7", "cri-o-1.31.*",
		"conmon", "crun", "container-selinux", "openvswitch3.5", "NetworkManager-ovs"))
	upgradeOnBench := func(dir string) *run {
		book, err := ledger.Open(t.TempDir(), ledger.Drivers{
			Snapshots: map[ledger.Kind]ledger.SnapshotDriver{
				software.TransactionKind: &software.Transactions{Host: b.Root},
			},
		})
		flowtest.NoError(t, err)
		t.Cleanup(func() { book.Close() })
		of := plan.Run{Request: request.Request{Config: config.Join{OpenShiftRelease: "4.19"}}, Dir: dir}
		r := &run{node: bootstrap.NewFlow(of, &machine.Machine{
			Ledger: book, Facts: hostinfo.Facts{OS: hostinfo.OSRelease{ID: "rhel", Version: "9.4"}, Arch: "amd64"},
		})}
		r.node.Session.PackageHost, r.node.Run.Upgrading = b.Root, true
		return r
	}

	stageOn := func(r *run) ([]string, error) {
		decision, err := r.node.Software.Decision(t.Context(), r.node.Plan, r.node.Validation)
		if err != nil {
			return nil, err
		}
		return decision.Specs(), r.stagePackages(t.Context(), report.Log{}, decision.Specs())
	}

	dir := t.TempDir()
	staged, err := stageOn(upgradeOnBench(dir))
	flowtest.NoError(t, err)
	if !slices.Equal(staged, []string{"openshift-kubelet-4.19.*", "cri-o-1.32.*"}) {
		t.Errorf("staged %q", staged)
	}
	server.Close()

	unstaged := upgradeOnBench(t.TempDir())
	if _, err := stageOn(unstaged); err == nil || !strings.Contains(err.Error(), "unreachable") {
		t.Errorf("without the repository: %v", err)
	}
	if installed := installedVersions(t, b); !strings.Contains(installed, "openshift-kubelet-4.18.7 ") {
		t.Errorf("the stage step has installed packages: %s", installed)
	}

	later := upgradeOnBench(dir)
	later.useStagedPackages()
	specs, err := stageOn(later)
	flowtest.NoError(t, err)
	flowtest.NoError(t, later.node.Packages().Install(t.Context(), report.Log{}, specs))
	if installed := installedVersions(t, b); !strings.Contains(installed, "openshift-kubelet-4.19.5 ") ||
		!strings.Contains(installed, "cri-o-1.32.1 ") {
		t.Errorf("installed: %s", installed)
	}
	decision, err := later.node.Software.Decision(t.Context(), later.node.Plan, later.node.Validation)
	if err != nil || decision.Err() != nil || len(decision.Replaced()) > 0 {
		t.Errorf("after the installation: %v, %v, %v", err, decision.Err(), decision.Replaced())
	}
}

func installedVersions(t *testing.T, b *rpms.Environment) string {
	t.Helper()
	installed, err := b.Root.Installed(t.Context())
	flowtest.NoError(t, err)
	text := ""
	for _, p := range installed {
		text += p.Name + "-" + p.Version + " "
	}
	return text
}

// layerFiles are the files of the package in the node layer.
const layerFiles = `/usr/bin/kubelet
%install
mkdir -p %{buildroot}/usr/bin
echo program >%{buildroot}/usr/bin/kubelet
chmod 755 %{buildroot}/usr/bin/kubelet
`

// pushNodeLayer pushes an OS image with a package in its node layer, and returns its pull spec.
func pushNodeLayer(t *testing.T, server *registrytest.Registry) string {
	t.Helper()
	env := rpms.New(t)
	env.Script = layerFiles
	env.Build("repository", "openshift-kubelet-4.21.0-1.el9")
	root := filepath.Join(t.TempDir(), "root")
	flowtest.NoError(t, os.MkdirAll(root, 0o755)) //nolint:gosec // as in an image
	env.Run("rpm", "--root", root, "--dbpath", "/usr/share/rpm", "--nodeps", "--install",
		filepath.Join(env.Dir, "repository/noarch/openshift-kubelet-4.21.0-1.el9.noarch.rpm"))
	archive, err := exec.Command("tar", "-C", root, "-c", ".").Output()
	flowtest.NoError(t, err)
	image, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer:   static.NewLayer(archive, types.DockerLayer),
		History: v1.History{CreatedBy: "/bin/sh -c /run/src/build-node-image.sh"},
	})
	flowtest.NoError(t, err)
	return server.Push(t, "os", image)
}

// payloadFor returns a payload that names an OS image in a registry.
func payloadFor(t *testing.T, server *registrytest.Registry, pullSpec string) *ignition.Payload {
	t.Helper()
	var files []string
	for path, content := range map[string]string{
		ignition.MachineConfigPath: fmt.Sprintf(`{"spec":{"osImageURL":%q}}`, pullSpec),
		pods.PullSecretPath:        string(registrytest.PullSecret(server.Host, "pull")),
		crio.TrustAnchorsDir + "/test.crt": string(
			pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		),
	} {
		files = append(files, fmt.Sprintf(`{"path":%q,"contents":{"source":"data:,%s"}}`, path, url.PathEscape(content)))
	}
	rendered, err := ignition.LoadPayload(
		[]byte(`{"ignition":{"version":"3.4.0"},"storage":{"files":[` + strings.Join(files, ",") + `]}}`),
	)
	flowtest.NoError(t, err)
	return rendered
}

// The node layer is downloaded and unpacked beside the present software. A later upgrade to the same payload
// needs no registry, and one to another payload removes it.
func TestStagedNodeLayerNeedsNoRegistry(t *testing.T) {
	if !mountns.Isolate(t) {
		return
	}
	flowtest.NoError(t, unix.Mount("tmpfs", "/usr/libexec", "tmpfs", 0, "")) // the parent of osimage.Directory
	server := registrytest.New(t, "pull")
	pullSpec := pushNodeLayer(t, server)
	rendered, dir, root := payloadFor(t, server, pullSpec), t.TempDir(), t.TempDir()
	flowtest.NoError(t, joinstate.Write(dir, joinedState()))
	contents := software.Contents{
		Image:    pullSpec,
		Release:  software.Release{Major: 4, Minor: 21},
		Packages: map[string]string{"openshift-kubelet": "4.21.0-1.el9"},
	}

	upgradeTo := func(digest string) (*run, func()) {
		tree, err := hostfs.OpenTree(root)
		flowtest.NoError(t, err)
		state, err := joinstate.Read(dir)
		flowtest.NoError(t, err)
		m := &machine.Machine{Tree: tree}
		m.Facts.Arch = "amd64"
		m.Ledger, err = ledger.Open(dir, m.Drivers())
		flowtest.NoError(t, err)
		r := &run{options: Options{Stage: true}, node: bootstrap.NewFlow(plan.Run{Dir: dir, State: state}, m)}
		r.node.Run.Upgrading = true
		r.node.UsePayload(payload.Loaded{Payload: rendered})
		r.node.Run.State.PayloadDigest = digest
		r.node.Validation.Software = &software.Decision{Unpack: []string{"openshift-kubelet"}}
		return r, func() { m.Ledger.Close(); tree.Close() }
	}
	stageAgain := func(isChanged bool) {
		t.Helper()
		r, done := upgradeTo("B")
		defer done()
		if !r.node.Software.LoadStored() {
			r.node.Software.Contents = &contents // which the plan step reads from the registry
		}
		outcome, err := stage(t.Context(), r, report.Log{})
		flowtest.NoError(t, err)
		state, err := joinstate.Read(dir)
		flowtest.NoError(t, err)
		if outcome.Changed != isChanged || state.PayloadDigest != "A" || state.Upgrade != nil || state.Staged == nil ||
			state.Staged.Size == 0 || state.Staged.Software.Release != contents.Release {
			t.Errorf("outcome %+v, state %+v, staged %+v", outcome, state, state.Staged)
		}
		if entries, err := os.ReadDir(root); err != nil || len(entries) > 0 {
			t.Errorf("the stage step has changed the host: %v, %v", entries, err)
		}
		if layer, err := joinstate.LoadFile(dir, joinstate.LayerFile); err != nil || layer != nil {
			t.Errorf("the downloaded layer is left: %d bytes, %v", len(layer), err)
		}
	}
	isUnpacked := func() bool {
		_, err := os.Stat(osimage.DirectoryOf(pullSpec))
		return err == nil
	}

	stageAgain(true)
	other, done := upgradeTo("C")
	flowtest.NoError(t, other.removeOtherStaged(t.Context()))
	done()
	if state, err := joinstate.Read(dir); err != nil || state.Staged != nil || isUnpacked() {
		t.Errorf("an upgrade to another payload keeps %+v, %v", state.Staged, err)
	}

	// A rolled back upgrade leaves the software only if it was staged on request.
	for _, isRequested := range []bool{true, false} {
		stageAgain(isRequested)
		r, done := upgradeTo("A")
		r.node.Software.Contents = &software.Contents{Image: "quay.io/openshift/os@sha256:00"}
		r.node.Run.State.Upgrade = &joinstate.Upgrade{RollingBack: "kubelet does not start"}
		if !isRequested {
			r.node.Run.State.Staged = nil
		}
		flowtest.NoError(t, r.finish(t.Context(), true))
		done()
		if state, err := joinstate.Read(dir); err != nil || isUnpacked() != isRequested ||
			(state.Staged != nil) != isRequested || state.Upgrade != nil {
			t.Errorf(
				"after a rollback, staged on request %t: unpacked %t, %+v, %v", isRequested, isUnpacked(), state.Staged, err,
			)
		}
	}

	stageAgain(true)
	server.Close()
	stageAgain(false)
	r, done := upgradeTo("B")
	defer done()
	if !r.node.Software.LoadStored() {
		t.Fatal("the software of the staged payload is unknown without the registry")
	}
	if _, err := r.node.Packages().UnpackLayer(t.Context(), report.Log{}, r.node.Validation.Software.Unpack); err != nil {
		t.Fatal(err)
	}
	flowtest.NoError(t, r.node.Packages().Place(t.Context(), osimage.DirectoryOf(pullSpec),
		r.node.Validation.Software.Unpack))
	if target, err := os.Readlink(filepath.Join(root, "usr/bin/kubelet")); err != nil ||
		!strings.HasPrefix(target, osimage.DirectoryOf(pullSpec)) {
		t.Errorf("kubelet is a link to %q, %v", target, err)
	}
	if _, err := r.node.Host.Ledger.Undo(t.Context()); err != nil || isUnpacked() {
		t.Errorf("leave keeps the unpacked software: %v", err)
	}
}
