// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/othercluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// PreviewDocument describes what a leave would do.
type PreviewDocument struct {
	report.TypeMeta
	NodeName    string                       `json:"nodeName,omitempty" doc:"name of the Node"`
	NodePool    string                       `json:"nodePool,omitempty" doc:"NAMESPACE/NAME; absent if standalone"`
	Steps       []string                     `json:"steps" doc:"steps of the leave in order, as descriptions"`
	Changes     []Change                     `json:"changes" doc:"changes that would be reverted, in that order"`
	Drift       []ledger.PublishedDifference `json:"drift" doc:"objects that were changed since the join"`
	Created     []CreatedPaths               `json:"created,omitempty" doc:"paths that were created since the join"`
	Leftovers   []othercluster.Leftover      `json:"leftovers,omitempty" doc:"files of another cluster that --leftovers would remove; on a host that the agent did not join, files of its cluster that the leave would remove"`
	Kept        []ledger.PublishedDifference `json:"kept,omitempty" doc:"objects of a host that the agent did not join, which the leave would keep"`
	Images      []string                     `json:"images,omitempty" doc:"images that --purge would remove"`
	Packages    []string                     `json:"packages,omitempty" doc:"packages that --purge would remove"`
	NotRestored []string                     `json:"notRestored,omitempty" doc:"what cannot be reverted, as messages"`
	Next        string                       `json:"next,omitempty" doc:"command to delete the Node, if it remains"`
	report.CommandResult
}

// Change is one change that a leave would revert.
type Change struct {
	Kind   ledger.Kind `json:"kind" doc:"kind of the object, such as file, link, unit or sysctl"`
	Target string      `json:"target" doc:"path or name of the object"`
	Step   string      `json:"step" doc:"step of the join that changed the object"`
	Action Action      `json:"action" doc:"how the change would be reverted"`
}

// Action describes how a leave would treat an object.
type Action string

// The actions.
const (
	Remove  Action = "remove"  // the object did not exist before the join
	Restore Action = "restore" // to its former state
	Keep    Action = "keep"    // others may have created it
)

// Enum returns all actions.
func (Action) Enum() []string { return schema.Strings(Remove, Restore, Keep) }

// CreatedPaths are paths in one directory that were created since the join.
type CreatedPaths struct {
	Directory string   `json:"directory" doc:"path of the directory"`
	Count     int      `json:"count" doc:"number of paths"`
	Action    Action   `json:"action" doc:"what the leave would do with the paths"`
	Paths     []string `json:"paths,omitempty" doc:"the paths, in a directory that administrators also use"`
}

// Preview returns what a leave with these options would do. It changes nothing.
func Preview(ctx context.Context, options Options) (PreviewDocument, error) {
	document := PreviewDocument{TypeMeta: report.Meta("LeavePreview")}
	state, err := joinstate.Read(options.StateDir)
	if err != nil {
		return document, err
	}
	m, err := machine.Open(ctx, options.StateDir, false)
	if err != nil {
		return document, err
	}
	defer m.Close()
	drift, err := m.Ledger.Drift(ctx)
	if err != nil {
		return document, err
	}
	adopting, err := joinstate.IsAdopting(options.StateDir, state)
	if err != nil {
		return document, err
	}
	if adopting { // nothing was changed
		document.Steps, document.Changes, document.Drift = []string{}, []Change{}, ledger.Publish(nil)
		document.NotRestored = []string{"the join with --adopt has not finished: a leave only removes its records"}
		return document, nil
	}
	adoption, err := joinstate.LoadAdoption(options.StateDir)
	if err != nil {
		return document, err
	}
	items := slices.DeleteFunc(m.Ledger.Items(), adoption.Keeps)
	document.NodeName, document.NodePool = state.NodeName, state.NodePool
	document.Drift = ledger.Publish(drift)
	for _, item := range slices.Backward(items) {
		if item.Kind == software.TransactionKind {
			continue // in Packages or NotRestored
		}
		change := Change{Kind: item.Kind, Target: item.Target, Step: item.Step, Action: Restore}
		if !item.Before.Present {
			change.Action = Remove
		}
		document.Changes = append(document.Changes, change)
	}
	if len(items) == 0 {
		return document, nil
	}
	f := &Flow{Machine: m, State: state, Dir: options.StateDir, Adoption: adoption, Purge: options.Purge}
	if adoption != nil {
		document.Kept = adoptedKept(adoption)
		if document.Leftovers, err = f.clusterFiles(ctx, document.Kept); err != nil {
			return document, err
		}
	}
	document.Steps = lists.Map(leaveSteps(&Document{}, options, adoption != nil),
		func(step steps.Step[*Flow]) string { return step.Description })
	if state.NodeName != "" && state.LastStep != "" {
		if options.DeleteNode == nil {
			document.Next = node.DeleteCommand(state.NodeName)
		} else {
			document.Steps = append(document.Steps, "delete Node "+state.NodeName+" from the cluster")
		}
	}
	if err := f.previewCreated(&document, items); err != nil {
		return document, err
	}
	if _, existed := f.storageItem(); !existed {
		items = withoutStorage(items) // the undo removes it
	}
	document.NotRestored = f.notRestored(items)
	if options.Purge {
		err = f.previewPurge(ctx, &document)
	}
	return document, err
}

// previewCreated adds the paths that were created since the join. It does not walk the image storage
// of the running CRI-O, which an undo removes as a whole.
func (f *Flow) previewCreated(document *PreviewDocument, items []ledger.Item) error {
	walked := withoutStorage(items)
	found, err := f.findAddedPaths(walked)
	if err != nil {
		return err
	}
	if _, existed := f.storageItem(); !existed && len(walked) < len(items) {
		found = append(found, addedPaths{dir: crio.StorageDir, paths: []string{crio.StorageDir}})
	}
	for _, added := range found {
		created := CreatedPaths{Directory: added.dir, Count: len(added.paths), Action: Remove}
		if added.shared {
			created.Paths = added.paths
			if !f.Purge {
				created.Action = Keep
			}
		}
		document.Created = append(document.Created, created)
	}
	return nil
}

func withoutStorage(items []ledger.Item) []ledger.Item {
	return slices.DeleteFunc(slices.Clone(items), func(item ledger.Item) bool { return item.Kind == crio.StorageKind })
}

// previewPurge adds the images and packages that a purge would remove.
func (f *Flow) previewPurge(ctx context.Context, document *PreviewDocument) error {
	if storage, found := f.storageItem(); found {
		images, err := crio.AddedImages(ctx, cri.Socket, storage.Before)
		if err != nil {
			return err
		}
		document.Images = lists.Map(images, func(image cri.Image) string { return image.Name })
	}
	removal, err := f.findPackages(ctx)
	for _, kept := range removal.Kept {
		document.NotRestored = append(document.NotRestored, "kept package "+kept)
	}
	document.Packages = removal.Names()
	return err
}
