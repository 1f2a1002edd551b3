// SPDX-License-Identifier: Apache-2.0

package software

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// LockKind is the ledger's kind for locks of dnf's plugin versionlock, or of dnf5. The target is the name
// of a package.
const LockKind ledger.Kind = "version lock"

// LockChanges returns the changes that keep dnf update from moving kubelet, CRI-O, cri-tools and Open
// vSwitch off the versions that are installed.
func LockChanges(ctx context.Context, on dnf.Host) ([]ledger.Change, error) {
	table, err := ReadTable()
	if err != nil {
		return nil, err
	}
	installed, err := on.Installed(ctx)
	if err != nil {
		return nil, err
	}
	entry := lockEntry
	if dnf.IsDNF5() {
		entry = lockEntry5
	}
	return lockChanges(table, installed, entry), nil
}

// lockEntry returns the line that locks the version of a package.
func lockEntry(p dnf.Package) string { return fmt.Sprintf("%s-%s-%s.*", p.Name, p.Version, p.Release) }

func lockChanges(table Table, installed []dnf.Package, entryOf func(dnf.Package) string) []ledger.Change {
	var changes []ledger.Change
	for _, p := range installed {
		isLocked := slices.ContainsFunc(table.Packages, func(need Package) bool {
			return (need.Version != "" || need.Program == "ovs-vsctl") && need.matches(p.Name)
		})
		if !isLocked {
			continue
		}
		entry := entryOf(p)
		changes = append(changes, ledger.Change{
			Kind:    LockKind,
			Target:  p.Name,
			Reason:  "dnf update must not replace the software of the payload's release",
			Desired: ledger.State{Present: true, Value: entry, Names: []string{entry}},
		})
	}
	slices.SortFunc(changes, func(a, b ledger.Change) int { return strings.Compare(a.Target, b.Target) })
	return changes
}

// Locks is the driver of version locks. The list can also contain locks of the administrator. A lock
// of the same package is replaced, and an undo restores it.
type Locks struct {
	Tree *hostfs.Tree
	Host dnf.Host
}

// Get returns the entries of the package as Names, and joined as Value. After the plugin was removed,
// no join can set a lock, and the desired state is no drift.
func (l *Locks) Get(_ context.Context, c ledger.Change) (ledger.State, error) {
	file, content, err := l.read()
	if err != nil || file == "" {
		return c.Desired, err
	}
	var entries []string
	if file == dnf.LockFile5 {
		entries, err = locksOf5(content, c.Target)
	} else {
		entries = locksOf(content, c.Target)
	}
	if err != nil {
		return ledger.State{}, err
	}
	return ledger.State{Present: len(entries) > 0, Value: strings.Join(entries, " "), Names: entries}, nil
}

// Set replaces the entries of the package.
func (l *Locks) Set(_ context.Context, c ledger.Change, _ ledger.State) error {
	return l.replace(c.Target, c.Desired.Names)
}

// Restore sets the former entries of the package.
func (l *Locks) Restore(_ context.Context, c ledger.Change, before ledger.State) error {
	return l.replace(c.Target, before.Names)
}

// replace replaces the entries of a package and keeps all others. Without the plugin there is nothing
// to do.
func (l *Locks) replace(name string, entries []string) error {
	file, content, err := l.read()
	if err != nil || file == "" {
		return err
	}
	if file != dnf.LockFile5 {
		content = replaceLocks(content, name, entries)
	} else if content, err = replaceLocks5(content, name, entries); err == nil && content == "" {
		return l.Tree.Remove(file)
	}
	if err != nil {
		return err
	}
	info, err := l.Tree.Lstat(file)
	if err != nil {
		return err
	}
	attr := hostfs.AgentAttr(0o644)
	if info.Type == hostfs.Regular {
		attr = info.Attr()
	}
	return l.Tree.ReplaceFile(file, []byte(content), attr)
}

// read returns the path of the list and its content. The path is "" if the plugin is not installed.
func (l *Locks) read() (file, content string, err error) {
	if file, err = l.Host.VersionLockFile(); err != nil || file == "" {
		return "", "", err
	}
	read, _, err := l.Tree.ReadFile(file)
	if err != nil && !hostfs.IsNotExist(err) {
		return "", "", err
	}
	return file, string(read), nil
}

// locksOf returns the entries of a package in the list of the plugin.
func locksOf(content, name string) []string {
	var entries []string
	for line := range strings.Lines(content) {
		if isLockOf(line, name) {
			entries = append(entries, strings.TrimSpace(line))
		}
	}
	return entries
}

// replaceLocks returns the list of the plugin with other entries of a package.
func replaceLocks(content, name string, entries []string) string {
	lines := slices.DeleteFunc(slices.Collect(strings.Lines(content)),
		func(line string) bool { return isLockOf(line, name) })
	for _, entry := range entries {
		if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
			lines[n-1] += "\n"
		}
		lines = append(lines, entry+"\n")
	}
	return strings.Join(lines, "")
}

// isLockOf reports whether a line of the list locks a package: NAME, or NAME-[EPOCH:]VERSION and so on.
func isLockOf(line, name string) bool {
	version, found := strings.CutPrefix(strings.TrimSpace(line), name)
	if !found || version == "" {
		return found
	}
	return len(version) > 1 && version[0] == '-' && strings.ContainsRune("0123456789*", rune(version[1]))
}
