package bootstrap

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// maxPlugin is the maximum size in bytes of a plugin file that is backed up
// before the join. A plugin has about 5 MiB, a large directory of plugins 100 MiB.
const maxPlugin = 32 << 20

// pluginBrackets returns the changes that record the plugin directories before
// pods write to them: the names they contain, and each file that pods can replace.
func (j *join) pluginBrackets() ([]ledger.Change, error) {
	var files, dirs []ledger.Change
	for _, dir := range pluginDirectories() {
		kind, why := ledger.Contents, "pods install plugins there"
		err := j.tree.Walk(dir, func(p string, info host.Info) error {
			if info.Type == host.Directory {
				return nil
			}
			kind, why = ledger.Shared, "pods and administrators install plugins there"
			if info.Type == host.Regular && info.Size <= maxPlugin || info.Type == host.Symlink {
				files = append(files, ledger.Change{
					Kind: ledger.File, Target: p, Why: "pods can replace it", Want: ledger.State{Present: true},
				})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, ledger.Change{Kind: kind, Target: dir, Why: why, Want: ledger.State{Present: true}})
	}
	return slices.Concat(files, dirs), nil
}

// leftover lists the paths that kubelet, CRI-O and pods have created in one
// directory.
type leftover struct {
	dir    string
	shared bool // administrators write to the directory too
	paths  []string
}

// leftovers returns the paths that were created in the directories of items
// since the join. For plugin directories it lists every file, for the node's own
// directories the topmost paths.
func (j *join) leftovers(items []ledger.Item) ([]leftover, error) {
	contents := &ledger.ContentsOf{Tree: j.tree}
	var all []leftover
	for _, item := range items {
		if item.Kind != ledger.Contents && item.Kind != ledger.Shared && item.Kind != crio.StorageKind {
			continue
		}
		came, err := contents.Came(item)
		if err != nil {
			return nil, err
		}
		shared := item.Kind == ledger.Shared
		if shared || slices.Contains(pluginDirectories(), item.Target) {
			came, err = j.onlyFiles(came)
		} else {
			came, err = j.topmost(item, came)
		}
		if err != nil {
			return nil, err
		}
		if slices.Sort(came); len(came) > 0 {
			all = append(all, leftover{dir: item.Target, shared: shared, paths: came})
		}
	}
	return all, nil
}

func (j *join) onlyFiles(paths []string) ([]string, error) {
	var files []string
	for _, p := range paths {
		info, err := j.tree.Lstat(p)
		if err != nil {
			return nil, err
		}
		if info.Type != host.Directory && info.Type != host.Absent {
			files = append(files, p)
		}
	}
	return files, nil
}

// topmost returns the paths of an item that are not below another one.
func (j *join) topmost(item ledger.Item, paths []string) ([]string, error) {
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

// reportLeftovers adds the paths that an undo removed or kept to the document. It
// logs those that are relevant to an administrator.
func (j *join) reportLeftovers(document *LeaveDocument, found []leftover, log report.Log) error {
	for _, l := range found {
		var removed, kept []string
		for _, p := range l.paths {
			info, err := j.tree.Lstat(p)
			if err != nil {
				return err
			}
			if info.Type == host.Absent {
				removed = append(removed, p)
			}
			if info.Type == host.Absent || !l.shared {
				continue // a later run retries what a failed undo left of the node's own files
			}
			kept = append(kept, p)
			change := ledger.Change{Kind: ledger.File, Target: p, Why: "it came since the join, and others can need it"}
			document.Kept = append(document.Kept, ledger.Difference{
				Item: ledger.Item{Change: change, Step: "files"},
				Now:  ledger.State{Present: true, Type: string(info.Type)},
			})
		}
		document.Removed = append(document.Removed, removed...)
		if len(removed) > 0 && !slices.Contains(madeByOthers(), l.dir) && l.dir != crio.Storage {
			log.Note(fmt.Sprintf("removed from %s: %s", l.dir, few(removed)))
		}
		if len(kept) > 0 {
			text := "kept in %s, as others can have put them there since the join: %s"
			log.Warn(fmt.Sprintf(text, l.dir, few(kept)), removal(kept))
		}
	}
	return nil
}

// removal returns the shell command that removes the files.
func removal(paths []string) string {
	words := []string{"rm", "--"}
	for _, p := range paths {
		words = append(words, "'"+strings.ReplaceAll(p, "'", `'\''`)+"'")
	}
	return strings.Join(words, " ")
}
