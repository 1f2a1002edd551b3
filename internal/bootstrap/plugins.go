package bootstrap

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// maxPluginSize is the maximum size in bytes of a plugin file that is backed up
// before the join. A plugin has about 5 MiB, a large directory of plugins 100 MiB.
const maxPluginSize = 32 << 20

// pluginSnapshots returns the changes that record the plugin directories before
// pods write to them: the names they contain, and each file that pods can replace.
func (j *operation) pluginSnapshots() ([]ledger.Change, error) {
	var files, dirs []ledger.Change
	for _, dir := range pluginDirectories() {
		kind, why := ledger.Contents, "pods install plugins there"
		err := j.tree.Walk(dir, func(p string, info hostfs.Info) error {
			if info.Type == hostfs.Directory {
				return nil
			}
			kind, why = ledger.SharedContents, "pods and administrators install plugins there"
			if info.Type == hostfs.Regular && info.Size <= maxPluginSize || info.Type == hostfs.Symlink {
				files = append(files, ledger.Change{
					Kind: ledger.File, Target: p, Reason: "pods can replace it", Desired: ledger.State{Present: true},
				})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, ledger.Change{Kind: kind, Target: dir, Reason: why, Desired: ledger.State{Present: true}})
	}
	return slices.Concat(files, dirs), nil
}

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
func (j *operation) findAddedPaths(items []ledger.Item) ([]addedPaths, error) {
	contents := &resource.DirSnapshot{Tree: j.tree}
	var all []addedPaths
	for _, item := range items {
		if item.Kind != ledger.Contents && item.Kind != ledger.SharedContents && item.Kind != crio.StorageKind {
			continue
		}
		came, err := contents.Added(item.Change, item.Before)
		if err != nil {
			return nil, err
		}
		shared := item.Kind == ledger.SharedContents
		if shared || slices.Contains(pluginDirectories(), item.Target) {
			came, err = j.onlyFiles(came)
		} else {
			came, err = j.topmost(item, came)
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

func (j *operation) onlyFiles(paths []string) ([]string, error) {
	var files []string
	for _, p := range paths {
		info, err := j.tree.Lstat(p)
		if err != nil {
			return nil, err
		}
		if info.Type != hostfs.Directory && info.Type != hostfs.Absent {
			files = append(files, p)
		}
	}
	return files, nil
}

// topmost returns the paths of an item that are not below another one.
func (j *operation) topmost(item ledger.Item, paths []string) ([]string, error) {
	if !item.Before.Present {
		there, err := j.tree.Exists(item.Target)
		if err != nil || !there {
			return nil, err
		}
		return []string{item.Target}, nil
	}
	known := map[string]bool{}
	for _, p := range paths {
		known[p] = true
	}
	return slices.DeleteFunc(paths, func(p string) bool { return known[path.Dir(p)] }), nil
}

// reportAddedPaths adds the paths that an undo removed or kept to the document. It
// logs those that are relevant to an administrator.
func (j *operation) reportAddedPaths(document *LeaveDocument, found []addedPaths, log report.Log) error {
	for _, l := range found {
		var removed, kept []string
		for _, p := range l.paths {
			info, err := j.tree.Lstat(p)
			if err != nil {
				return err
			}
			if info.Type == hostfs.Absent {
				removed = append(removed, p)
			}
			if info.Type == hostfs.Absent || !l.shared {
				continue // a later run retries what a failed undo left of the node's own files
			}
			kept = append(kept, p)
			change := ledger.Change{Kind: ledger.File, Target: p, Reason: "it came since the join, and others can need it"}
			document.Kept = append(document.Kept, ledger.Difference{
				Item: ledger.Item{Change: change, Step: "files"},
				Now:  ledger.State{Present: true, Type: info.Type},
			})
		}
		document.Removed = append(document.Removed, removed...)
		if len(removed) > 0 && !slices.Contains(externalDirs(), l.dir) && l.dir != crio.StorageDir {
			log.Note(fmt.Sprintf("removed from %s: %s", l.dir, abbreviateList(removed)))
		}
		if len(kept) > 0 {
			text := "kept in %s, as others can have put them there since the join: %s"
			log.Warn(fmt.Sprintf(text, l.dir, abbreviateList(kept)), removeCommand(kept))
		}
	}
	return nil
}

// removeCommand returns the shell command that removes the files.
func removeCommand(paths []string) string {
	words := []string{"rm", "--"}
	for _, p := range paths {
		words = append(words, "'"+strings.ReplaceAll(p, "'", `'\''`)+"'")
	}
	return strings.Join(words, " ")
}
