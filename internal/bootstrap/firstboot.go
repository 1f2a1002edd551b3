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

// FirstBootDir is where an administrator leaves what a host joins with by
// itself: stub.ign, and node.ticket where there is one.
const FirstBootDir = "/etc/hcp-node-agent"

// The files that the service begins a join with, in FirstBootDir or among the
// credentials that systemd gives it. The units name them too.
const (
	firstBootStub   = "stub.ign"
	firstBootTicket = "node.ticket"
)

// FirstBoot is where the service looks for what to begin a join with, when no
// join is known.
type FirstBoot struct {
	Dir         string // files in it are removed when the join has ended; "": none
	Credentials string // $CREDENTIALS_DIRECTORY of the unit; "": none
}

// files are the stub and the ticket, each "" where there is none.
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

// ours tells whether a file is there. One that somebody else could have written
// is refused: it says to which cluster the host belongs, and so what root runs.
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

// configure adds what was found to a configuration that names no way into a
// cluster itself; it tells whether there is one now.
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

// renewed gives what goes on with a join that is known: what it was begun with,
// unless somebody has put a fresh stub there while it has no payload yet, or a
// fresh ticket. Those of an expired token or ticket are mended so.
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
	o.Config = state.Config // without files that can be gone: their contents are kept
	o.Config.Timeout, o.Config.Ticket = given.Timeout, ticket
	o.Config.UserData, o.Config.Endpoint, o.Config.TokenFile, o.Config.CAFile, o.Config.ApproveWith = "", "", "", "", ""
	o.Config.IgnitionOverrides = nil
	return o, nil
}

// newer tells whether a file is there that was written after a time.
func newer(path string, when time.Time) bool {
	info, err := os.Stat(path)
	return path != "" && err == nil && info.ModTime().After(when)
}

// marks changes when a stub or a ticket comes, goes or is replaced.
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

// tidy removes what a join that has ended was begun with: the token in it is of
// no use any more, and a host that has left shall not join again by itself, as
// Ignition's own configuration is deleted once it is applied
// (ignition-delete-config.service). A file that came later is not this join's:
// it stays, and is told of.
func (b FirstBoot) tidy(state State, log report.Log) {
	b.remove(state, log, func(info fs.FileInfo) bool { return !info.ModTime().After(state.Finished) }, func(path string) parting {
		return parting{
			removed: "this host has joined with it, and needs it no longer",
			stays:   "this host has joined already, and does not use " + path + ", which holds a secret",
			remedy:  "rm " + path + " # or begin anew: hcp-node-agent join --user-data STUB [--ticket FILE]",
		}
	})
}

// clear removes what a host that leaves has joined with: else it would join
// again at its next boot. What it has not joined with stays, and is told of.
func (b FirstBoot) clear(state State, log report.Log) {
	b.remove(state, log, func(fs.FileInfo) bool { return true }, func(path string) parting {
		return parting{
			removed: "this host shall not join with it again",
			stays:   path + " is there still, and this host joins with it at its next boot",
			remedy:  "rm " + path,
		}
	})
}

// parting is what is said of a file that is removed, or that stays.
type parting struct{ removed, stays, remedy string }

// remove removes the files that a join was begun with, if they are its own, and
// tells of those that stay.
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
