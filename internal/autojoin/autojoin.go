// SPDX-License-Identifier: Apache-2.0

// Package autojoin locates the files with which the service joins a host that has not
// joined: user data and a join token in /etc/hcp-node-agent or in the unit's systemd
// credentials. It removes them after the join and after a leave. Start reading at Files.
package autojoin

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// DefaultDir is the directory in which an administrator or an image provides the
// files for an automatic join: the user data and, optionally, a join token.
const DefaultDir = "/etc/hcp-node-agent"

// The files that start an automatic join, in DefaultDir or in the systemd
// credentials of the service. The unit files contain these names too.
const (
	userDataName = "user-data.ign"
	tokenName    = "node.token"
)

// Files locates the files with which the service starts a join if none has been
// recorded.
type Files struct {
	Dir         string // the files in it are removed after the join; "" for none
	Credentials string // $CREDENTIALS_DIRECTORY of the unit; "" for none
}

// files returns the paths of the user data and the join token, "" for a file that
// does not exist.
func (f Files) files() (userData, token string, err error) {
	for _, dir := range []string{f.Dir, f.Credentials} {
		for name, found := range map[string]*string{userDataName: &userData, tokenName: &token} {
			if dir == "" || *found != "" {
				continue
			}
			path := filepath.Join(dir, name)
			there, err := trustedFileExists(path)
			if err != nil {
				return "", "", err
			}
			if there {
				*found = path
			}
		}
	}
	return userData, token, nil
}

// trustedFileExists reports whether the file exists. It fails if users other than
// root can write the file: the user data selects the cluster, and thereby the code
// that runs as root.
func trustedFileExists(path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, report.Fail(report.Usage, "", "checking for user data and a join token: %w", err)
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	if known && int(owner.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0 {
		return true, nil
	}
	return false,
		report.Fail(report.Usage, report.Remedyf("# check the content, then:\nchown root:root %[1]s && chmod 0600 %[1]s",
			path),
			"%s is ignored: users other than root can write to it (mode %s)", path, info.Mode().Perm())
}

// Configure adds the files to c if c does not name a payload source or a join token
// itself. It reports whether the result names any.
func (f Files) Configure(c config.Join) (config.Join, bool, error) {
	userData, token, err := f.files()
	if err != nil {
		return c, false, err
	}
	if !c.HasUserData() {
		c.UserData = userData
	}
	c.JoinToken = cmp.Or(c.JoinToken, token)
	return c, c.HasUserData() || c.JoinToken != "", nil
}

// NextOptions returns the options of the next attempt: they resume the recorded
// join or, if there is none, start a new one.
func (f Files) NextOptions(o request.Options, state joinstate.State) (request.Options, error) {
	if state.Exists() {
		return f.resumeOptions(o, state)
	}
	started, found, err := f.Configure(o.Config)
	if err == nil && !found {
		err = report.Fail(report.Usage, "hcp-node-agent join --user-data USER_DATA",
			"this host has not joined a cluster; there is nothing to monitor")
	}
	o.Config = started
	return o, err
}

// resumeOptions returns the options that resume the recorded join. User data that
// is newer than a join without a payload replaces the recorded user data, and a
// newer join token replaces the recorded one. An administrator can thus replace an
// expired token.
func (f Files) resumeOptions(o request.Options, state joinstate.State) (request.Options, error) {
	userData, token, err := f.files()
	if err != nil {
		return o, err
	}
	if state.PayloadDigest == "" && modifiedAfter(userData, state.Started) {
		o.Config.UserData = userData
		o.Config.JoinToken = cmp.Or(o.Config.JoinToken, token)
		return o, nil
	}
	if !modifiedAfter(token, state.Started) {
		o.Resume = true
		return o, nil
	}
	given := o.Config
	o.Config = state.Config // input files may no longer exist; their contents are saved
	o.Config.Timeout, o.Config.JoinToken = given.Timeout, token
	o.Config.UserData, o.Config.Endpoint, o.Config.TokenFile, o.Config.CAFile, o.Config.ApproveWith = "", "", "", "", ""
	o.Config.IgnitionOverrides = nil
	return o, nil
}

// modifiedAfter reports whether the file exists and was modified after the given
// time.
func modifiedAfter(path string, when time.Time) bool {
	info, err := os.Stat(path)
	return path != "" && err == nil && info.ModTime().After(when)
}

// Fingerprint returns a string that changes if the user data or the join token is
// created, removed or replaced.
func (f Files) Fingerprint() string {
	if f.Dir == "" {
		return ""
	}
	var marks strings.Builder
	for _, name := range []string{userDataName, tokenName} {
		path := filepath.Join(f.Dir, name)
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(&marks, "%s %d %s\n", path, info.Size(), info.ModTime())
		}
	}
	return marks.String()
}

// RemoveAfterJoin removes the files that a finished join used. Their token is no
// longer useful, and the host must not join again automatically after a leave.
// Ignition deletes its own configuration likewise (ignition-delete-config.service).
// Files that were created later are kept and reported.
func (f Files) RemoveAfterJoin(state joinstate.State, log report.Log) {
	f.remove(state, log, removal{
		isOwn:   func(info fs.FileInfo) bool { return !info.ModTime().After(state.Finished) },
		removed: "removed %s: the join has finished and no longer needs it",
		kept:    "%s contains a secret and is unused: this host has already joined",
		remedy:  "rm %s # or start over: hcp-node-agent join --user-data USER_DATA [--join-token FILE]",
	})
}

// RemoveAfterLeave removes the files that the join used, because the host would
// otherwise join again at its next boot. Other files are kept and reported.
func (f Files) RemoveAfterLeave(state joinstate.State, log report.Log) {
	f.remove(state, log, removal{
		isOwn:   func(fs.FileInfo) bool { return true },
		removed: "removed %s: this host must not join again automatically",
		kept:    "%s still exists; this host joins with it at the next boot",
		remedy:  "rm %s",
	})
}

// removal describes a removal of files. The messages have a verb for the path.
type removal struct {
	isOwn                 func(fs.FileInfo) bool // whether the recorded join used this version of the file
	removed, kept, remedy string
}

// remove removes the files that the recorded join used, and reports the files that
// are kept.
func (f Files) remove(state joinstate.State, log report.Log, r removal) {
	if f.Dir == "" {
		return
	}
	for name, used := range map[string]string{userDataName: state.Config.UserData, tokenName: state.Config.JoinToken} {
		path := filepath.Join(f.Dir, name)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && used == path && r.isOwn(info) {
			if err = joinstate.RemoveFiles(f.Dir, name); err == nil {
				log.Note(fmt.Sprintf(r.removed, path))
				continue
			}
		}
		kept := fmt.Sprintf(r.kept, path)
		if err != nil {
			kept += ": " + err.Error()
		}
		log.Warn(kept, report.Remedyf(r.remedy, path))
	}
}
