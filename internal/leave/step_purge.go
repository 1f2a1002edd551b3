// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// recordPurge stores durably which packages the purge removes at the end of the leave: those after the last
// transaction of dnf before the agent's.
func (f *Flow) recordPurge() error {
	after, found := software.FirstTransaction(f.Machine.Ledger.Items())
	if !found {
		return nil // none, or an earlier run has stored them
	}
	return joinstate.SavePurge(f.Dir, after)
}

// findPackages returns the packages that a purge removes, none if the agent has installed none.
func (f *Flow) findPackages(ctx context.Context) (software.Removal, error) {
	after, found := software.FirstTransaction(f.Machine.Ledger.Items())
	if !found {
		stored, exists, err := joinstate.LoadPurge(f.Dir)
		if err != nil || !exists {
			return software.Removal{}, err
		}
		after = stored
	}
	if !dnf.IsAvailable() {
		return software.Removal{}, nil
	}
	bridge := foreignBridge(ctx, found)
	return software.FindRemoval(ctx, f.PackageHost, after, func(name string) string {
		if bridge != "" && (strings.HasPrefix(name, "openvswitch") || name == "NetworkManager-ovs") {
			return "Open vSwitch bridge " + bridge + " exists"
		}
		return ""
	})
}

// foreignBridge returns the name of a bridge of Open vSwitch that is not the cluster's, "" if there is
// none or Open vSwitch does not run. As long as the host has joined, br-ex and br-int are the cluster's.
func foreignBridge(ctx context.Context, joined bool) string {
	if !command.Exists("ovs-vsctl") || openvswitch.CheckRunning(ctx) != nil {
		return ""
	}
	database, err := openvswitch.ReadDatabase(ctx)
	if err != nil {
		return ""
	}
	return lists.Find(database.Bridges, func(b openvswitch.Bridge) bool {
		return !joined || (b.Name != "br-ex" && b.Name != "br-int")
	}).Name
}

// purgePackages returns the step that removes the packages that the agent installed. The undo has
// stopped their services before.
func purgePackages(document *Document) func(context.Context, *Flow, report.Log) (steps.Outcome, error) {
	return func(ctx context.Context, f *Flow, log report.Log) (steps.Outcome, error) {
		removal, err := f.findPackages(ctx)
		if err == nil {
			err = removal.Uninstall(ctx, f.PackageHost, log)
		}
		if err != nil {
			return steps.Outcome{}, withResumeHint(ctx, err)
		}
		for _, kept := range removal.Kept {
			text := "kept package " + kept
			document.NotRestored = append(document.NotRestored, text)
			log.Note(text)
		}
		document.RemovedPackages = removal.Names()
		if len(removal.Remove) == 0 {
			return steps.Unchanged("no packages to remove")
		}
		return steps.Changed("removed %s", report.AbbreviateList(removal.Names()))
	}
}

// storageItem returns the record of the image storage if the storage existed before the join. An undo
// removes any other storage.
func (f *Flow) storageItem() (ledger.Item, bool) {
	storage := lists.Find(f.Machine.Ledger.Items(), func(item ledger.Item) bool {
		return item.Kind == crio.StorageKind && len(item.Before.Names) > 0
	})
	return storage, storage.Kind != ""
}

// purgeImages returns the step that removes the images that were pulled since the join from an image
// storage that existed before.
func purgeImages(document *Document) func(context.Context, *Flow, report.Log) (steps.Outcome, error) {
	return func(ctx context.Context, f *Flow, log report.Log) (steps.Outcome, error) {
		storage, found := f.storageItem()
		if !found {
			return steps.Unchanged("no images to remove separately")
		}
		images, err := crio.AddedImages(ctx, cri.Socket, storage.Before)
		if err != nil {
			return steps.Outcome{}, withResumeHint(ctx, err)
		}
		for _, image := range images {
			if err := cri.RemoveImage(ctx, cri.Socket, image.ID); err != nil {
				if ctx.Err() != nil {
					return steps.Outcome{}, errors.Join(ctx.Err(), err)
				}
				text := fmt.Sprintf("kept image %s: %v", image.Name, err) // podman has a container of it
				document.NotRestored = append(document.NotRestored, text)
				log.Note(text)
				continue
			}
			document.RemovedImages = append(document.RemovedImages, image.Name)
		}
		if len(document.RemovedImages) == 0 {
			return steps.Unchanged("no images to remove")
		}
		return steps.Changed("removed images: %d", len(document.RemovedImages))
	}
}
