package bootstrap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// FirstBootDir is the directory in which an administrator or an image provides the
// files for an automatic join: stub.ign and, optionally, node.ticket.
const FirstBootDir = "/etc/hcp-node-agent"

// The files that start an automatic join, in AutoJoinDir or in the systemd
// credentials of the service. The unit files contain these names too.
const (
	firstBootStub   = "stub.ign"
	firstBootTicket = "node.ticket"
)

// FirstBoot locates the files with which the service starts a join if none has been
// recorded.
type FirstBoot struct {
	Dir         string // the files in it are removed after the join; "" for none
	Credentials string // $CREDENTIALS_DIRECTORY of the unit; "" for none
}

// files returns the paths of the user data and the join token, "" for a file that
// does not exist.
func (b FirstBoot) files() (stub, ticket string, err error) {
	for _, dir := range []string{b.Dir, b.Credentials} {
		for name, found := range map[string]*string{firstBootStub: &stub, firstBootTicket: &ticket} {
			if dir == "" || *found != "" {
				continue
			}
			path := filepath.Join(dir, name)
			there, err := ours(path)
			if err != nil {
				return "", "", err
			}
			if there {
				*found = path
			}
		}
	}
	return stub, ticket, nil
}

// ours reports whether the file exists. It fails if users other than
// root can write the file: the user data selects the cluster, and thereby the code
// that runs as root.
func ours(path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, report.Fail(report.Usage, "", "looking for what to join with: %w", err)
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	if known && int(owner.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0 {
		return true, nil
	}
	return false, report.Fail(report.Usage, fmt.Sprintf("# look at what is in it, then:\nchown root:root %[1]s; chmod 0600 %[1]s", path),
		"%s is not used: others than root can write to it (%s)", path, info.Mode().Perm())
}

// configure adds the files to c if c does not name a payload source or a join token
// itself. It reports whether the result names any.
func (b FirstBoot) configure(c config.Join) (config.Join, bool, error) {
	stub, ticket, err := b.files()
	if err != nil {
		return c, false, err
	}
	if c.UserData == "" && c.Endpoint == "" {
		c.UserData = stub
	}
	if c.Ticket == "" {
		c.Ticket = ticket
	}
	return c, c.UserData != "" || c.Endpoint != "" || c.Ticket != "", nil
}

// renewed returns the options that resume the recorded join. User data that
// is newer than a join without a payload replaces the recorded user data, and a
// newer join token replaces the recorded one. An administrator can thus replace an
// expired token.
func (b FirstBoot) renewed(o Options, state State) (Options, error) {
	stub, ticket, err := b.files()
	if err != nil {
		return o, err
	}
	freshTicket := newer(ticket, state.Started)
	if state.Payload == "" && newer(stub, state.Started) {
		o.Config.UserData = stub
		if o.Config.Ticket == "" {
			o.Config.Ticket = ticket
		}
		return o, nil
	}
	if !freshTicket {
		o.Resume = true
		return o, nil
	}
	given := o.Config
	o.Config = state.Config // input files may no longer exist; their contents are saved
	o.Config.Timeout, o.Config.Ticket = given.Timeout, ticket
	o.Config.UserData, o.Config.Endpoint, o.Config.TokenFile, o.Config.CAFile, o.Config.ApproveWith = "", "", "", "", ""
	o.Config.IgnitionOverrides = nil
	return o, nil
}

// newer reports whether the file exists and was modified after the given
// time.
func newer(path string, when time.Time) bool {
	info, err := os.Stat(path)
	return path != "" && err == nil && info.ModTime().After(when)
}

// marks returns a string that changes if the user data or the join token is
// created, removed or replaced.
func (b FirstBoot) marks() string {
	var marks strings.Builder
	for _, name := range []string{firstBootStub, firstBootTicket} {
		path := filepath.Join(b.Dir, name)
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(&marks, "%s %d %s\n", path, info.Size(), info.ModTime())
		}
	}
	return marks.String()
}

// tidy removes the files that a finished join used. Their token is no
// longer useful, and the host must not join again automatically after a leave.
// Ignition deletes its own configuration likewise (ignition-delete-config.service).
// Files that were created later are kept and reported.
func (b FirstBoot) tidy(state State, log report.Log) {
	b.remove(state, log, func(info fs.FileInfo) bool { return !info.ModTime().After(state.Finished) }, func(path string) parting {
		return parting{
			removed: "this host has joined with it, and needs it no longer",
			stays:   "this host has joined already, and does not use " + path + ", which holds a secret",
			remedy:  "rm " + path + " # or begin anew: hcp-node-agent join --user-data STUB [--ticket FILE]",
		}
	})
}

// clear removes the files that the join used, because the host would
// otherwise join again at its next boot. Other files are kept and reported.
func (b FirstBoot) clear(state State, log report.Log) {
	b.remove(state, log, func(fs.FileInfo) bool { return true }, func(path string) parting {
		return parting{
			removed: "this host shall not join with it again",
			stays:   path + " is there still, and this host joins with it at its next boot",
			remedy:  "rm " + path,
		}
	})
}

// parting contains the log messages for a file that is removed or kept.
type parting struct{ removed, stays, remedy string }

// remove removes the files that the recorded join used and that own accepts. It
// reports the files that are kept.
func (b FirstBoot) remove(state State, log report.Log, own func(fs.FileInfo) bool, say func(path string) parting) {
	if b.Dir == "" {
		return
	}
	for name, used := range map[string]string{firstBootStub: state.Config.UserData, firstBootTicket: state.Config.Ticket} {
		path := filepath.Join(b.Dir, name)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		said := say(path)
		if err == nil && used == path && own(info) {
			if err = drop(b.Dir, name); err == nil {
				log.Note(path + " is removed: " + said.removed)
				continue
			}
		}
		if err != nil {
			said.stays += ": " + err.Error()
		}
		log.Warn(said.stays, said.remedy)
	}
}
