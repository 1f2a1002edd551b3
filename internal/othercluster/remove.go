// SPDX-License-Identifier: Apache-2.0

package othercluster

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Check fails if leftovers cannot be removed safely: a file system is mounted in one of them, or a symbolic link leads
// to its directory.
func Check(tree hostfs.Reader, leftovers []Leftover) error {
	var problems []report.Problem
	var dirs []string
	for _, leftover := range leftovers {
		dirs = lists.AppendMissing(dirs, path.Dir(leftover.Path))
		info, err := tree.Lstat(leftover.Path)
		if err != nil {
			return err
		}
		if info.Type != hostfs.Directory {
			continue // Mounts would follow a link
		}
		mounts, err := tree.Mounts(leftover.Path)
		if err != nil {
			return err
		}
		if len(mounts) > 0 {
			problems = append(problems, report.Problem{
				Message: "a file system is mounted at " + mounts[0] + ", whose files would be removed with " + leftover.Path,
				Remedy:  report.Remedyf("umount %s", report.ShellWord(mounts[0])),
			})
		}
	}
	for _, dir := range dirs {
		real, err := tree.RealPath(dir)
		if err != nil {
			return err
		}
		if expected := filepath.Join(tree.Name(), dir); real != expected {
			problems = append(problems, report.Problem{
				Message: "a symbolic link leads from " + expected + " to " + real,
				Remedy:  report.Remedyf("ls -la %s # remove the files of the other cluster yourself", report.ShellWord(real)),
			})
		}
	}
	return report.FailWith(report.Refused, problems)
}

// Remove removes leftovers durably, directories with their contents. It never follows a symbolic link, and does not
// enter mounts, in which the removal of their directory fails. It returns the removed paths.
//
// The ledger does not record the removal, and no copy is kept: the files are credentials and pods of another cluster,
// which a leave must not restore.
func Remove(tree *hostfs.Tree, leftovers []Leftover) ([]string, error) {
	var removed, dirs []string
	for _, leftover := range leftovers {
		var paths []string
		err := tree.WalkWith(leftover.Path, func(p string, _ hostfs.Info) error {
			paths = append(paths, p)
			return nil
		})
		for _, p := range slices.Backward(paths) { // contents first
			if err == nil {
				err = tree.Remove(p)
			}
		}
		dirs = lists.AppendMissing(dirs, path.Dir(leftover.Path))
		if err != nil {
			return removed, errors.Join(err, syncDirs(tree, dirs))
		}
		removed = append(removed, leftover.Path)
	}
	return removed, syncDirs(tree, dirs)
}

func syncDirs(tree *hostfs.Tree, dirs []string) error {
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, tree.SyncDir(dir))
	}
	return errors.Join(errs...)
}

// RunsPods reports whether processes of pods run, also while CRI-O is stopped. It only finds them with cgroup v2.
func RunsPods(tree hostfs.Reader) (bool, error) {
	content, _, err := tree.ReadFile("/sys/fs/cgroup/kubepods.slice/cgroup.events")
	if hostfs.IsNotExist(err) {
		return false, nil
	}
	return strings.Contains(string(content), "populated 1"), err
}
