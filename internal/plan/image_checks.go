// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
)

// checkImage returns the reasons why the host cannot boot the image of the plan. It reads the manifest from the
// registry.
func (s *Software) checkImage(ctx context.Context, p *Plan, log report.Log) ([]report.Finding, error) {
	if s.session.Run.RollsBackImage(p) {
		return nil, nil
	}
	status, err := s.session.Host.Deployments(ctx)
	if err != nil || status == nil {
		return nil, err
	}
	images, err := joinstate.LoadImages(s.session.Run.Dir)
	if err != nil {
		return nil, err
	}
	if status.Staged != nil && images.Update != nil && status.Staged.HasDigest(images.Update.Digest) {
		status.Staged = nil // the agent has staged it, and replaces it
	}
	image, err := s.OpenOSImage(ctx, log)
	if err != nil {
		return []report.Finding{report.RefusingFinding(err)}, ctx.Err()
	}
	var found []report.Finding
	if err := s.checkPullPolicy(ctx, image); err != nil {
		found = append(found, report.RefusingFinding(err))
	}
	storage, err := deployment.ReadStorage(ctx)
	if err != nil {
		return nil, err
	}
	bootable, err := osimage.CheckBootable(image, s.session.Host.Facts.Arch, storage)
	next := s.checkStream()
	return slices.Concat(found, bootable, deployment.CheckStageable(*status, p.Image.Digest), next), err
}

// checkStream returns a warning if an image moves the host to another major version of RHEL.
func (s *Software) checkStream() []report.Finding {
	move := s.MajorMove()
	if move == nil {
		return nil
	}
	return []report.Finding{{
		Severity: report.SeverityWarning, Message: "the image of the payload " + move.String(), Remedy: move.Avoid(),
	}}
}

// A MajorMove is the move of a host to another major version of RHEL by its image.
type MajorMove struct{ from, to int }

// MajorMove returns the move of the host by the image of the payload, nil if it keeps its major version, or if one of
// them is unknown. HyperShift refuses to change a NodePool from rhel-10 to rhel-9
// (api/hypershift/v1beta1/nodepool_types.go).
func (s *Software) MajorMove() *MajorMove {
	from, to := software.RHEL(s.session.Host.Facts.OS), s.Contents.RHELMajor()
	if from < 8 || to == 0 || from == to { // up to 4.18, VERSION_ID of RHEL CoreOS is that of OpenShift
		return nil
	}
	return &MajorMove{from, to}
}

// String returns what the image does.
func (m *MajorMove) String() string {
	return fmt.Sprintf("moves this host from RHEL %d to RHEL %d", m.from, m.to)
}

// Avoid returns how the host keeps its major version.
func (m *MajorMove) Avoid() report.Remedy {
	return report.Remedyf("# to stay on RHEL %d, use a NodePool with spec.osImageStream.name: rhel-%d; from OpenShift "+
		"5.0 on, the default is rhel-10, and a NodePool cannot return to rhel-9", m.from, m.from)
}

// checkPullPolicy fails if the signature policy with which this host will pull the image refuses it: that of a node,
// and that of the payload at a first join.
func (s *Software) checkPullPolicy(ctx context.Context, image *osimage.Image) error {
	policy, found := s.effectiveFile(osimage.PolicyPath)
	if s.session.Run.State.Registered {
		content, _, err := s.session.Host.Files.ReadFile(osimage.PolicyPath)
		policy, found = content, err == nil
	}
	if !found {
		return nil
	}
	return osimage.CheckPullPolicy(image, policy, deployment.SkopeoVersion(ctx))
}
