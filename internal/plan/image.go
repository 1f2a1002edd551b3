// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
)

// ImageUpdate is the boot of another image, which precedes the other changes of a plan.
type ImageUpdate struct {
	Image  string // NAME@DIGEST, as the payload names it
	Digest string
	Booted deployment.Deployment // the deployment that the host leaves
	// KernelArguments are set in the same deployment.
	KernelArguments resource.ArgumentChange

	// InRollback: the previous deployment of the host is of the image, and is booted again with its own /etc if the
	// agent returns to the payload before.
	InRollback bool
}

// planImage plans the boot of the image of the payload on a host whose image belongs to the release: RHEL CoreOS.
func (b builder) planImage(p *Plan) error {
	if !runsPayloadImage(b.facts.Host, b.settings.Config) {
		return nil
	}
	update, err := decideImage(b.facts.Deployments, b.payload.MachineConfig().OSImageURL)
	if err != nil || update == nil {
		return err
	}
	if !b.settings.BootsImage {
		p.OtherImage = update
		p.Notes = append(p.Notes, adapt.Note{
			Subject: "the image of this host", Action: adapt.Report, Rule: "image",
			Remedy: "hcp-node-agent upgrade --user-data USER_DATA",
			Reason: "the node runs " + update.Booted.String() + ", the payload requires " + update.Image +
				", which only an upgrade boots, because it drains the node",
		})
		return nil
	}
	update.KernelArguments = p.PayloadArguments
	p.Image = update
	p.Notes = append(p.Notes, adapt.Note{
		Subject: "the image of this host", Action: adapt.Change, Rule: "image",
		Reason: "the host runs " + update.Booted.String() + ", the payload requires " + update.Image +
			", which is booted before the files are written",
	})
	return nil
}

// runsPayloadImage reports whether the host runs the image of the payload: RHEL CoreOS, and RHEL bootc on request.
func runsPayloadImage(host hostinfo.Facts, c config.Join) bool {
	use := host.Capabilities().PayloadImage
	return use == hostclass.Always || (use == hostclass.OnRequest && c.SwitchImage)
}

// RunsPayloadImage reports whether the host runs the image of the payload, or will: the image contains the packages.
func (b *Builder) RunsPayloadImage() bool { return runsPayloadImage(b.Host.Facts, b.Run.Config) }

// decideImage returns the update to the image of the payload, nil if it runs or if the deployments are unknown.
func decideImage(deployments *deployment.Status, image string) (*ImageUpdate, error) {
	if deployments == nil || image == "" {
		return nil, nil //nolint:nilnil // the image of the host is not updated
	}
	_, digest, found := strings.Cut(image, "@")
	if !found {
		return nil, report.Fail(report.Refused,
			"# set spec.release.image of the NodePool to a release that names its images by digest",
			"the payload names the image of the host without a digest: %s", image)
	}
	if deployments.Booted.HasDigest(digest) {
		return nil, nil //nolint:nilnil // the host runs the image
	}
	return &ImageUpdate{
		Image: image, Digest: digest, Booted: deployments.Booted,
		InRollback: deployments.Rollback != nil && deployments.Rollback.HasDigest(digest),
	}, nil
}

// RollsBackImage reports whether an upgrade that returns to the payload before boots the previous deployment again.
func (b *Builder) RollsBackImage(p *Plan) bool {
	return p.Image != nil && p.Image.InRollback && b.Run.State.Upgrade.IsRollingBack()
}

// checkImage returns the reasons why the host cannot boot the image of the plan. It reads the manifest from the
// registry.
func (b *Builder) checkImage(ctx context.Context, p *Plan, log report.Log) ([]report.Finding, error) {
	if b.RollsBackImage(p) {
		return nil, nil
	}
	status, err := b.Host.Deployments(ctx)
	if err != nil || status == nil {
		return nil, err
	}
	images, err := joinstate.LoadImages(b.Run.Dir)
	if err != nil {
		return nil, err
	}
	if status.Staged != nil && images.Update != nil && status.Staged.HasDigest(images.Update.Digest) {
		status.Staged = nil // the agent has staged it, and replaces it
	}
	image, err := b.OpenOSImage(ctx, log)
	if err != nil {
		return []report.Finding{report.RefusingFinding(err)}, ctx.Err()
	}
	var found []report.Finding
	if err := b.checkPullPolicy(ctx, image); err != nil {
		found = append(found, report.RefusingFinding(err))
	}
	storage, err := deployment.ReadStorage(ctx)
	if err != nil {
		return nil, err
	}
	bootable, err := osimage.CheckBootable(image, b.Host.Facts.Arch, storage)
	next := checkStream(b.Host.Facts.OS, b.Software)
	return slices.Concat(found, bootable, deployment.CheckStageable(*status, p.Image.Digest), next), err
}

// checkStream returns a warning if an image moves the host to another major version of RHEL: HyperShift refuses to
// change a NodePool from rhel-10 to rhel-9 (api/hypershift/v1beta1/nodepool_types.go).
func checkStream(host hostinfo.OSRelease, next *software.Contents) []report.Finding {
	from, to := software.RHEL(host), next.RHELMajor()
	if from < 8 || to == 0 || from == to { // up to 4.18, VERSION_ID of RHEL CoreOS is that of OpenShift
		return nil
	}
	return []report.Finding{{
		Severity: report.SeverityWarning,
		Message:  fmt.Sprintf("the image of the payload moves this host from RHEL %d to RHEL %d", from, to),
		Remedy: report.Remedyf("# to stay on RHEL %d, use a NodePool with spec.osImageStream.name: rhel-%d; from OpenShift "+
			"5.0 on, the default is rhel-10, and a NodePool cannot return to rhel-9", from, from),
	}}
}

// checkPullPolicy fails if the signature policy with which this host will pull the image refuses it: that of a node,
// and that of the payload at a first join.
func (b *Builder) checkPullPolicy(ctx context.Context, image *osimage.Image) error {
	policy, found := b.effectiveFile(osimage.PolicyPath)
	if b.Run.State.Registered {
		content, _, err := b.Host.Files.ReadFile(osimage.PolicyPath)
		policy, found = content, err == nil
	}
	if !found {
		return nil
	}
	return osimage.CheckPullPolicy(image, policy, deployment.SkopeoVersion(ctx))
}

// PullFiles returns the planned files with which the host pulls the image of the payload at a first join: mirrors,
// signature policy, pull secret, CAs and proxy. The drop-in of rpm-ostreed names the proxy.
func (p *Plan) PullFiles() []ledger.Change {
	return slices.DeleteFunc(slices.Clone(p.Files), func(change ledger.Change) bool {
		return !slices.ContainsFunc([]string{
			"/etc/containers", pods.PullSecretPath, crio.TrustAnchorsDir, proxyEnvironment,
			"/etc/systemd/system/rpm-ostreed.service.d",
		}, func(prefix string) bool { return hostfs.IsWithin(change.Target, prefix) })
	})
}
