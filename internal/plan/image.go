// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
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
func (s *Session) RunsPayloadImage() bool { return runsPayloadImage(s.Host.Facts, s.Run.Config) }

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
func (r *Run) RollsBackImage(p *Plan) bool {
	return p.Image != nil && p.Image.InRollback && r.State.Upgrade.IsRollingBack()
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
