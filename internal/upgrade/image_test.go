// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

// Only an image that the host has run can have failed: an upgrade that fails before the reboot can be repeated.
func TestMarkFailed(t *testing.T) {
	dir := t.TempDir()
	const digest = "sha256:1"
	save := func(update joinstate.ImageUpdate) {
		t.Helper()
		images, err := joinstate.LoadImages(dir)
		if err != nil {
			t.Fatal(err)
		}
		images.Update = &update
		if err := images.Save(dir); err != nil {
			t.Fatal(err)
		}
	}
	failedImages := func() []joinstate.FailedImage {
		t.Helper()
		images, err := joinstate.LoadImages(dir)
		if err != nil {
			t.Fatal(err)
		}
		return images.Failed
	}
	save(joinstate.ImageUpdate{Digest: digest, RebootedFrom: "boot-1"})
	if err := markFailed(dir, "not booted"); err != nil || len(failedImages()) > 0 {
		t.Fatalf("before the boot: %v, %v", failedImages(), err)
	}
	for _, reason := range []string{"kubelet failed", "kubelet failed again"} {
		save(joinstate.ImageUpdate{Digest: digest, Booted: time.Now()})
		if err := markFailed(dir, reason); err != nil {
			t.Fatal(err)
		}
		got := failedImages()
		if len(got) != 1 || got[0].Digest != digest || got[0].Reason != reason || got[0].Time.IsZero() {
			t.Errorf("failed images %+v", got)
		}
	}

	r := newImageRun(dir, digest)
	err := r.checkImage()
	if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), "kubelet failed again") {
		t.Errorf("a failed image is booted again: %v", err)
	}
	r.options.RetryImage = true
	if err := r.checkImage(); err != nil {
		t.Errorf("on request: %v", err)
	}
	r.options.RetryImage, r.node.Plan.Image.Digest = false, "sha256:2"
	if err := r.checkImage(); err != nil {
		t.Errorf("another image: %v", err)
	}
}

// newImageRun returns an upgrade of a host with RHEL 9 to an image.
func newImageRun(dir, digest string) *run {
	r := &run{node: bootstrap.NewFlow(plan.Run{Dir: dir}, nil)}
	r.node.Plan = &plan.Plan{Image: &plan.ImageUpdate{Digest: digest}}
	host := machine.Reader{Facts: hostinfo.Facts{OS: hostinfo.OSRelease{ID: "rhel", Variant: "coreos", Version: "9.8"}}}
	r.node.Software = plan.NewSoftware(&plan.Session{Host: host}, nil)
	return r
}

func TestImageOfAnotherRHELIsRefused(t *testing.T) {
	r := newImageRun(t.TempDir(), "sha256:1")
	for rhel, allow := range map[string]bool{"9.10": false, "10.2": true} {
		r.node.Software.Contents = &software.Contents{RHEL: rhel}
		r.options.AllowMajor = false
		err := r.checkImage()
		if (err != nil) != allow {
			t.Errorf("RHEL %s: %v", rhel, err)
		}
		if err != nil && (report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), "from RHEL 9 to RHEL 10") ||
			!strings.Contains(string(report.RemedyOf(err)), "--allow-major")) {
			t.Errorf("RHEL %s: %v; remedy %s", rhel, err, report.RemedyOf(err))
		}
		r.options.AllowMajor = true
		if err := r.checkImage(); err != nil {
			t.Errorf("RHEL %s, on request: %v", rhel, err)
		}
	}
}

func TestIsOfDeployment(t *testing.T) {
	for _, test := range []struct {
		kind   ledger.Kind
		target string
		want   bool
	}{
		{ledger.File, "/etc/kubernetes/kubelet.conf", true},
		{ledger.Unit, "kubelet.service", true}, // links in /etc
		{ledger.File, "/var/lib/kubelet/config.json", false},
		{ledger.File, "/usr/local/bin/configure-ovs.sh", false}, // /usr/local is a link to /var
	} {
		item := ledger.Item{Change: ledger.Change{Kind: test.kind, Target: test.target}}
		if got := isOfDeployment(item); got != test.want {
			t.Errorf("%s: %t", test.target, got)
		}
	}
}

func TestIsTrialOver(t *testing.T) {
	for name, test := range map[string]struct {
		booted time.Time
		want   bool
	}{
		"the image is not updated": {},
		"just booted":              {booted: time.Now()},
		"too long":                 {booted: time.Now().Add(-applyTimeout - time.Second), want: true},
	} {
		if got := (&run{imageBooted: test.booted}).isTrialOver(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
