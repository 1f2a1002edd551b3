// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// stageUpgrade downloads everything that the later steps need, and unpacks it beside the present software.
// It does not affect the node, and pods keep running. A repeated run continues an interrupted one.
func stageUpgrade(ctx context.Context, j *join, log report.Log) (steps.Outcome, error) {
	j.upgrade.mayRollBack = true
	if slices.Contains(j.Config.Skip, steps.Packages) {
		return steps.Unchanged("the step %s is skipped", steps.Packages)
	}
	if err := j.removeOtherStaged(ctx); err != nil {
		return steps.Outcome{}, err
	}
	var staged []string
	decision, err := j.decideSoftware(ctx)
	if err != nil {
		return steps.Outcome{}, err
	}
	isUnpacked, err := j.unpackLayer(ctx, log, decision.Unpack)
	if err != nil {
		return steps.Outcome{}, err
	}
	if isUnpacked {
		staged = append(staged, "unpacked the software of the OS image")
	}
	specs := decision.Specs()
	if err := j.stagePackages(ctx, log, specs); err != nil {
		return steps.Outcome{}, err
	}
	if len(specs) > 0 {
		staged = append(staged, "downloaded "+strings.Join(specs, " "))
	}
	pulled, err := j.stageImages(ctx, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	if pulled > 0 {
		staged = append(staged, fmt.Sprintf("pulled images: %d", pulled))
	}
	if err := j.recordStaged(); err != nil {
		return steps.Outcome{}, err
	}
	if len(staged) == 0 {
		return steps.Unchanged("nothing has to be downloaded")
	}
	return steps.Changed("%s", strings.Join(staged, "; "))
}

// removeOtherStaged removes what was staged for another payload, and unpacked software that nothing uses.
func (j *join) removeOtherStaged(ctx context.Context) error {
	if s := j.State.Staged; j.State.Upgrade == nil && s != nil && s.PayloadDigest != j.State.PayloadDigest {
		if err := j.writeStaged(nil); err != nil {
			return err
		}
	}
	return j.removeUnusedSoftware(ctx)
}

// recordStaged records what upgrade --stage has staged.
func (j *join) recordStaged() error {
	if !j.upgrade.options.Stage || j.isStaged() {
		return nil
	}
	paths := []string{filepath.Join(j.Dir, joinstate.PackagesDir)}
	if j.Software != nil {
		paths = append(paths, osimage.DirectoryOf(j.Software.Image))
	}
	size, err := hostfs.DiskUsage(paths...)
	if err != nil {
		return err
	}
	return j.writeStaged(&joinstate.Staged{
		Since: time.Now().UTC(), PayloadDigest: j.State.PayloadDigest, Software: j.Software, Size: size,
	})
}

// writeStaged records what is staged in the state of the installed payload.
func (j *join) writeStaged(staged *joinstate.Staged) error {
	installed, err := joinstate.Read(j.Dir)
	if err != nil {
		return err
	}
	j.State.Staged, installed.Staged = staged, staged
	return joinstate.Write(j.Dir, installed)
}

// isStaged reports whether the software of the payload was staged by an earlier run.
func (j *join) isStaged() bool {
	if u := j.State.Upgrade; u != nil {
		return u.RollingBack == ""
	}
	return j.State.Staged != nil && j.State.Staged.PayloadDigest == j.State.PayloadDigest
}

// stagedSpecsFile is the file with the specs of the packages in joinstate.PackagesDir.
const stagedSpecsFile = "specs"

// stagePackages downloads the packages that dnf installs in this upgrade into a cache of the agent, and
// tests their installation. From then on, dnf reads only this cache: a transaction in the step packages
// cannot differ from the tested one.
func (j *join) stagePackages(ctx context.Context, log report.Log, specs []string) error {
	if len(specs) == 0 {
		return joinstate.RemoveFiles(j.Dir, joinstate.PackagesDir)
	}
	on := j.DNF()
	on.Cache, on.CacheOnly = filepath.Join(j.Dir, joinstate.PackagesDir), false
	recorded, err := joinstate.LoadFile(on.Cache, stagedSpecsFile)
	if err != nil {
		return err
	}
	cached := on
	cached.CacheOnly = true
	if recorded == nil || software.Download(ctx, cached, log, specs...) != nil { // an earlier run was interrupted
		if want := strings.Join(specs, "\n"); string(recorded) != want {
			if err := joinstate.RemoveFiles(j.Dir, joinstate.PackagesDir); err != nil {
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
	j.useStagedPackages()
	return nil
}

// useStagedPackages makes dnf read only what stagePackages has downloaded, if there is anything.
func (j *join) useStagedPackages() {
	dir := filepath.Join(j.Dir, joinstate.PackagesDir)
	if specs, err := joinstate.LoadFile(dir, stagedSpecsFile); err == nil && specs != nil {
		j.PackageHost.Cache, j.PackageHost.CacheOnly = dir, true
	}
}

// stageImages pulls the images that CRI-O and the static pods of the payload need, and returns their
// number. A failure is a warning: CRI-O may need the pull secret or the mirrors of the new payload.
func (j *join) stageImages(ctx context.Context, log report.Log) (int, error) {
	if !cri.IsListening(cri.Socket) {
		return 0, nil
	}
	images, err := kubelet.StaticPodImages(j.Plan.Files)
	if err != nil {
		return 0, err
	}
	if image := j.Plan.Runtime.PauseImage; image != "" {
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
func (j *join) isStagedSoftwareUnpacked() bool {
	s := j.State.Staged
	return s != nil && s.Software != nil && slices.ContainsFunc(j.Ledger.Items(), func(item ledger.Item) bool {
		return item.Kind == osimage.Kind && item.Target == osimage.DirectoryOf(s.Software.Image)
	})
}

// removeUnusedSoftware removes unpacked software, except for that of the payload, of the previous
// generation, and of a staged upgrade.
func (j *join) removeUnusedSoftware(ctx context.Context) error {
	used := []*software.Contents{j.Software}
	if previous, err := joinstate.LoadGeneration(j.Dir, joinstate.PreviousFile); err != nil {
		return err
	} else if previous != nil {
		contents, err := previous.Software()
		if err != nil {
			return err
		}
		used = append(used, contents)
	}
	if j.State.Staged != nil {
		used = append(used, j.State.Staged.Software)
	}
	remove := osimage.Unused(j.Ledger.Items(), used...)
	if len(remove) == 0 {
		return nil
	}
	_, err := j.revert(ctx, report.Log{Sink: j.Sink, Step: steps.Packages}, func(item ledger.Item) bool {
		return item.Kind == osimage.Kind && slices.Contains(remove, item.Target)
	})
	if err != nil {
		return fmt.Errorf("removing %s: %w", strings.Join(remove, ", "), err)
	}
	return nil
}
