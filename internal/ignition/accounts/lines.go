// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// lines is a snapshot of the lines of an account in the account files, which
// shadow-utils write. An undo restores them unless another process has changed
// one of them since. All other lines stay as they are.
type lines struct{ tree *hostfs.Tree }

// lineData is the data of a state of lines, by account file.
type lineData struct {
	Digests map[string]string `json:"digests"` // of the lines of the account
	// Preceding are the accounts above an account to be removed. An undo restores the account there.
	Preceding map[string][]string `json:"preceding,omitempty"`
}

func decodeLineData(s ledger.State) (data lineData, err error) {
	if s.Data == nil {
		return data, nil
	}
	if err := json.Unmarshal(s.Data, &data); err != nil {
		return data, fmt.Errorf("decoding the state of an account: %w", err)
	}
	return data, nil
}

// Get returns the lines, each behind its file. The ledger keeps the lines that existed
// before; of those that a step has left it has the digests.
func (l *lines) Get(_ context.Context, c ledger.Change) (ledger.State, error) {
	db, err := readDatabase(l.tree)
	if err != nil {
		return ledger.State{}, err
	}
	var all strings.Builder
	data := lineData{Digests: map[string]string{}, Preceding: map[string][]string{}}
	for _, file := range filesOf(c.Kind) {
		own := db[file].of(c.Target)
		data.Digests[file] = digest(strings.Join(own, "\n"))
		for _, line := range own {
			all.WriteString(file + ":" + line + "\n")
		}
		if !c.Desired.Present {
			data.Preceding[file] = db[file].preceding(c.Target)
		}
	}
	state := ledger.State{Present: db.has(c.Kind, c.Target)}
	if all.Len() > 0 {
		state.Content, state.Digest, state.Size = []byte(all.String()), digest(all.String()), int64(all.Len())
	}
	state.Data, err = json.Marshal(data)
	return state, err
}

// IsPartiallyRestored reports whether the lines of each file are as they were before the step
// or after it: an undo can be killed between two files.
func (*lines) IsPartiallyRestored(c ledger.Change, before, now ledger.State) (bool, error) {
	var data [3]lineData
	for i, state := range []ledger.State{before, c.Desired, now} {
		var err error
		if data[i], err = decodeLineData(state); err != nil {
			return false, err
		}
	}
	for file, digest := range data[2].Digests {
		if digest != data[0].Digests[file] && digest != data[1].Digests[file] {
			return false, nil
		}
	}
	return true, nil
}

// Restore restores the lines.
func (l *lines) Restore(ctx context.Context, c ledger.Change, before ledger.State) error {
	data, err := decodeLineData(before)
	if err != nil {
		return err
	}
	return edit(ctx, l.tree, func(db database) error {
		if !before.Present {
			if stays, err := l.mustStay(c, db); err != nil || stays {
				return err
			}
		}
		for _, file := range filesOf(c.Kind) {
			var own []string
			for line := range strings.Lines(string(before.Content)) {
				if line, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), file+":"); found {
					own = append(own, line)
				}
			}
			db[file] = db[file].replaced(c.Target, own, data.Preceding[file])
		}
		return nil
	})
}

// edit changes the account files under the lock of shadow-utils.
func edit(ctx context.Context, tree *hostfs.Tree, change func(db database) error) error {
	lock, err := tree.Lock(ctx, "/etc/.pwd.lock")
	if err != nil {
		return err
	}
	defer lock.Close()
	old, err := readDatabase(tree)
	if err != nil {
		return err
	}
	db := maps.Clone(old)
	if err := change(db); err != nil {
		return err
	}
	return db.write(tree, old)
}

// preceding returns the names before a name, or nil if the table does not contain the name.
func (t table) preceding(name string) []string {
	names := []string{}
	for _, line := range t.lines {
		if nameOf(line) == name {
			return names
		}
		names = append(names, nameOf(line))
	}
	return nil
}

// replaced returns a table with other lines of a name: at their place, or behind
// the last of the preceding names that exists, or, if preceding is nil, at the end.
func (t table) replaced(name string, own, preceding []string) table {
	at := slices.IndexFunc(t.lines, func(line string) bool { return nameOf(line) == name })
	if at < 0 {
		if at = len(t.lines); preceding != nil {
			at = 0
		}
		for i, line := range t.lines {
			if slices.Contains(preceding, nameOf(line)) {
				at = i + 1
			}
		}
	}
	rest := slices.DeleteFunc(slices.Clone(t.lines), func(line string) bool { return nameOf(line) == name })
	if t.info.Type == hostfs.Regular {
		t.lines = slices.Insert(rest, at, own...)
	}
	return t
}

// mustStay reports whether a group is that of a user that another process has
// changed since, and so stays. It fails rather than leave another user without
// its primary group, or processes without their user.
func (l *lines) mustStay(c ledger.Change, db database) (bool, error) {
	if c.Kind == groupAccount {
		users := db.primaryOf(c.Target)
		if len(users) == 0 || slices.Equal(users, []string{c.Target}) {
			return len(users) > 0, nil
		}
		return false, report.Fail(report.Failed, report.Remedy("usermod --gid users "+report.ShellWord(users[0])+" # or to another group"),
			"the group %s was not removed: it is the primary group of %s", c.Target, strings.Join(users, ", "))
	}
	uid, err := strconv.Atoi(cmp.Or(db[passwdFile].column(c.Target, colID), "-1"))
	if err != nil || uid < 0 || !l.tree.IsLive() {
		return false, err
	}
	pids, err := hostinfo.Processes(uid)
	if err != nil || len(pids) == 0 {
		return false, err
	}
	return false, report.Fail(report.Failed, report.Remedy("loginctl terminate-user "+report.ShellWord(c.Target)+" # terminates its processes"),
		"the user %s was not removed: its process %d is running", c.Target, pids[0])
}
