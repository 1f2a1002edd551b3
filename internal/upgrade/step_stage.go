// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// stage downloads everything that the later steps need, and unpacks it beside the present software.
// It does not affect the node, and pods keep running. A repeated run continues an interrupted one.
func stage(ctx context.Context, r *run, log report.Log) (steps.Outcome, error) {
	r.mayRollBack = true
	if slices.Contains(r.node.Run.Config.Skip, steps.Packages) {
		return steps.Unchanged("the step %s is skipped", steps.Packages)
	}
	if err := r.removeOtherStaged(ctx); err != nil {
		return steps.Outcome{}, err
	}
	if r.node.Host.Facts.Capabilities().PayloadImage == hostclass.Always {
		return r.stageImage(ctx, log)
	}
	var staged []string
	decision, err := r.node.Software.Decision(ctx, r.node.Plan, r.node.Validation)
	if err != nil {
		return steps.Outcome{}, err
	}
	isUnpacked, err := r.node.Packages().UnpackLayer(ctx, log, decision.Unpack)
	if err != nil {
		return steps.Outcome{}, err
	}
	if isUnpacked {
		staged = append(staged, "unpacked the software of the OS image")
	}
	specs := decision.Specs()
	if err := r.stagePackages(ctx, log, specs); err != nil {
		return steps.Outcome{}, err
	}
	if len(specs) > 0 {
		staged = append(staged, "downloaded "+strings.Join(specs, " "))
	}
	pulled, err := r.stageImages(ctx, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	if pulled > 0 {
		staged = append(staged, fmt.Sprintf("pulled images: %d", pulled))
	}
	if err := r.recordStaged(); err != nil {
		return steps.Outcome{}, err
	}
	if len(staged) == 0 {
		return steps.Unchanged("nothing has to be downloaded")
	}
	return steps.Changed("%s", strings.Join(staged, "; "))
}

// removeOtherStaged removes what was staged for another payload, and unpacked software that nothing uses.
func (r *run) removeOtherStaged(ctx context.Context) error {
	if s := r.state().Staged; r.state().Upgrade == nil && s != nil && s.PayloadDigest != r.state().PayloadDigest {
		if err := r.writeStaged(nil); err != nil {
			return err
		}
	}
	return r.node.Packages().RemoveUnused(ctx)
}

// recordStaged records what upgrade --stage has staged.
func (r *run) recordStaged() error {
	if !r.options.Stage || r.isStaged() {
		return nil
	}
	paths := []string{filepath.Join(r.node.Run.Dir, joinstate.PackagesDir)}
	if r.node.Software.Contents != nil {
		paths = append(paths, osimage.DirectoryOf(r.node.Software.Contents.Image))
	}
	size, err := hostfs.DiskUsage(paths...)
	if err != nil {
		return err
	}
	return r.writeStaged(&joinstate.Staged{
		Since: time.Now().UTC(), PayloadDigest: r.state().PayloadDigest, Software: r.node.Software.Contents, Size: size,
	})
}

// writeStaged records what is staged in the state of the installed payload.
func (r *run) writeStaged(staged *joinstate.Staged) error {
	installed, err := joinstate.Read(r.node.Run.Dir)
	if err != nil {
		return err
	}
	r.state().Staged, installed.Staged = staged, staged
	return joinstate.Write(r.node.Run.Dir, installed)
}

// isStaged reports whether the software of the payload was staged by an earlier run.
func (r *run) isStaged() bool {
	if u := r.state().Upgrade; u != nil {
		return u.RollingBack == ""
	}
	return r.state().Staged != nil && r.state().Staged.PayloadDigest == r.state().PayloadDigest
}

// stagePackages downloads the packages that dnf installs in this upgrade into a cache of the agent, and tests
// their installation. From then on, dnf reads only this cache: a transaction in the step packages cannot differ
// from the tested one.
func (r *run) stagePackages(ctx context.Context, log report.Log, specs []string) error {
	if len(specs) == 0 {
		return joinstate.RemoveFiles(r.node.Run.Dir, joinstate.PackagesDir)
	}
	on := r.node.Session.DNF(r.node.Loaded.Payload)
	on.Cache, on.CacheOnly = filepath.Join(r.node.Run.Dir, joinstate.PackagesDir), false
	recorded, err := joinstate.LoadFile(on.Cache, stagedSpecsFile)
	if err != nil {
		return err
	}
	cached := on
	cached.CacheOnly = true
	if recorded == nil || software.Download(ctx, cached, log, specs...) != nil { // an earlier run was interrupted
		if want := strings.Join(specs, "\n"); string(recorded) != want {
			if err := joinstate.RemoveFiles(r.node.Run.Dir, joinstate.PackagesDir); err != nil {
				return err
			}
			if err := joinstate.SaveFile(on.Cache, stagedSpecsFile, []byte(want)); err != nil {
				return err
			}
			if err := on.CopyCache(ctx); err != nil {
				log.Note("dnf downloads the metadata of the repositories again: " + err.Error())
			}
		}
		if err := software.Download(ctx, on, log, specs...); err != nil {
			return err
		}
	}
	r.useStagedPackages()
	return nil
}

// stageImages pulls the images that CRI-O and the static pods of the payload need, and returns their
// number. A failure is a warning: CRI-O may need the pull secret or the mirrors of the new payload.
func (r *run) stageImages(ctx context.Context, log report.Log) (int, error) {
	if !cri.IsListening(cri.Socket) {
		return 0, nil
	}
	images, err := kubelet.StaticPodImages(r.node.Plan.Files)
	if err != nil {
		return 0, err
	}
	if image := r.node.Plan.Runtime.PauseImage; image != "" {
		images = append(images, image)
	}
	pulled := 0
	for _, image := range images {
		exists, err := cri.HasImage(ctx, cri.Socket, image)
		if err == nil && !exists {
			log.Wait("waiting for CRI-O to pull "+image, "")
			if err = cri.Pull(ctx, cri.Socket, image); err == nil {
				pulled++
			}
		}
		if ctx.Err() != nil {
			return pulled, ctx.Err()
		}
		if err != nil {
			log.Warn("an image of the payload is pulled after the drain, because it cannot be pulled now: "+err.Error(),
				report.Remedyf("crictl pull %s", image))
		}
	}
	return pulled, nil
}

// isStagedSoftwareUnpacked reports whether the staged software includes unpacked software.
func (r *run) isStagedSoftwareUnpacked() bool {
	s := r.state().Staged
	return s != nil && s.Software != nil && slices.ContainsFunc(r.node.Host.Ledger.Items(), func(item ledger.Item) bool {
		return item.Kind == osimage.Kind && item.Target == osimage.DirectoryOf(s.Software.Image)
	})
}
