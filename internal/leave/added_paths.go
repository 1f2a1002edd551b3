// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// addedPaths lists the paths that kubelet, CRI-O and pods have created in one
// directory.
type addedPaths struct {
	dir    string
	shared bool // administrators write to the directory too
	paths  []string
}

// findAddedPaths returns the paths that were created in the directories of items
// since the join. For plugin directories it lists every file, for the node's own
// directories the topmost paths.
func (f *Flow) findAddedPaths(items []ledger.Item) ([]addedPaths, error) {
	contents := &resource.DirSnapshot{Tree: f.Machine.Tree}
	var all []addedPaths
	for _, item := range items {
		shared := item.Kind == ledger.SharedContents
		if !shared && item.Kind != ledger.Contents && item.Kind != crio.StorageKind {
			continue
		}
		came, err := contents.Added(item.Change, item.Before)
		switch {
		case err != nil:
		case shared || slices.Contains(machine.PluginDirs(), item.Target):
			came, err = f.onlyFiles(came)
		case item.Before.Present:
			came = topmost(came)
		default:
			var exists bool
			if exists, err = f.Machine.Tree.Exists(item.Target); exists {
				came = []string{item.Target}
			}
		}
		if err != nil {
			return nil, err
		}
		if slices.Sort(came); len(came) > 0 {
			all = append(all, addedPaths{dir: item.Target, shared: shared, paths: came})
		}
	}
	return all, nil
}

func (f *Flow) onlyFiles(paths []string) ([]string, error) {
	var files []string
	for _, p := range paths {
		info, err := f.Machine.Tree.Lstat(p)
		if err != nil {
			return nil, err
		}
		if info.Type != hostfs.Directory && info.Type != hostfs.Absent {
			files = append(files, p)
		}
	}
	return files, nil
}

// topmost returns the paths that are not below another one.
func topmost(paths []string) []string {
	known := sets.New(paths...)
	return slices.DeleteFunc(paths, func(p string) bool { return known.Has(path.Dir(p)) })
}

// reportAddedPaths adds the paths that an undo removed or kept to the document. It
// logs those that are relevant to an administrator.
func (f *Flow) reportAddedPaths(document *Document, found []addedPaths, log report.Log) error {
	for _, added := range found {
		var removed, kept []string
		for _, p := range added.paths {
			info, err := f.Machine.Tree.Lstat(p)
			if err != nil {
				return err
			}
			if info.Type == hostfs.Absent {
				removed = append(removed, p)
			}
			if info.Type == hostfs.Absent || !added.shared {
				continue // a later run retries what a failed undo left of the node's own files
			}
			kept = append(kept, p)
			document.Kept = append(document.Kept, ledger.PublishedDifference{
				Kind:   ledger.File,
				Target: p,
				Step:   steps.Files,
				Reason: "created since the join; other programs may require the file",
				Now:    ledger.State{Present: true, Type: info.Type},
			})
		}
		document.Removed = append(document.Removed, removed...)
		if len(removed) > 0 && !slices.Contains(machine.ClusterDirs(), added.dir) && added.dir != crio.StorageDir {
			log.Note(fmt.Sprintf("removed from %s: %s", added.dir, report.AbbreviateList(removed)))
		}
		if len(kept) > 0 {
			log.Warn(fmt.Sprintf("kept in %s (possibly created by other programs since the join): %s", added.dir,
				report.AbbreviateList(kept)), listCommand(kept))
		}
	}
	return nil
}

// listCommand returns the shell command that lists the files, whose owner must decide.
func listCommand(paths []string) report.Remedy {
	return report.Remedyf("ls -ld -- %s # remove those that no other program requires",
		strings.Join(lists.Map(paths, report.ShellWord), " "))
}
