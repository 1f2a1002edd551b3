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

// maxPlugin is the size up to which a file in a directory of plugins is copied
// before the join. A plugin has 5 MiB, and a large directory of them 100 MiB.
const maxPlugin = 32 << 20

// pluginBrackets returns what to record of the plugin directories before the
// cluster's pods write there: the names in them, and each file that they can
// replace.
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

// leftover is what kubelet, CRI-O and pods have put into one directory.
type leftover struct {
	dir    string
	shared bool // with administrators
	paths  []string
}

// leftovers returns what came into the directories of items since the join. For
// plugins every file is listed; for the node's own directories the topmost paths.
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

// topmost returns those of an item's paths that are not below another one.
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

// reportLeftovers adds to the document which leftovers an undo removed and which
// it kept, and logs those that an administrator can miss.
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
				continue // what an undo that failed left of the node's own is tried again
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

// removal returns the shell command that removes files.
func removal(paths []string) string {
	words := []string{"rm", "--"}
	for _, p := range paths {
		words = append(words, "'"+strings.ReplaceAll(p, "'", `'\''`)+"'")
	}
	return strings.Join(words, " ")
}
