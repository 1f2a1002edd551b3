// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	sysroot       = "/sysroot"
	repository    = sysroot + "/ostree/repo"
	entriesDir    = "/boot/loader/entries"
	stagedKargs   = "/run/ostree/staged-kargs"
	digestKey     = "ostree.manifest-digest"        // crates/ostree-ext/src/container/store.rs
	configKey     = "ostree.container.image-config" // the same
	containerKey  = "container-image-reference"     // crates/ostree-ext/src/container/deploy.rs
	originPrefix  = "ostree-unverified-registry:"   // crates/ostree-ext/src/container/mod.rs
	rebootMessage = "Run \"systemctl reboot\" to start a reboot"
)

// deployment is a deployment of this host.
type deployment struct {
	stateroot, checksum string
	serial              int
	// index is the position in the boot order: the deployment with index 0 boots next.
	index                          int
	booted, staged, locked, pinned bool
	origin                         keyfile
}

// name returns the name of the deployment's directory.
func (d deployment) name() string { return fmt.Sprintf("%s.%d", d.checksum, d.serial) }

// reference returns the container image reference of the origin, or "" for an origin without an image.
func (d deployment) reference() string { return d.origin["origin"][containerKey] }

// incompatible reports whether the origin has changes that bootc does not support
// (crates/lib/src/utils.rs, origin_has_rpmostree_stuff).
func (d deployment) incompatible() bool {
	for _, group := range []string{"rpmostree", "packages", "overrides", "modules"} {
		if _, ok := d.origin[group]; ok {
			return true
		}
	}
	return false
}

// deployments returns the deployments of the booted stateroot in boot order.
func deployments() ([]deployment, error) {
	status, err := command("ostree", "admin", "status")
	if err != nil {
		return nil, err
	}
	list := parseStatus(status)
	at := slices.IndexFunc(list, func(d deployment) bool { return d.booted })
	if at < 0 {
		return nil, errors.New("this system is not booted from a deployment")
	}
	booted := list[at]
	list = slices.DeleteFunc(list, func(d deployment) bool { return d.stateroot != booted.stateroot })
	for i := range list {
		d := &list[i]
		file := filepath.Join(sysroot, "ostree/deploy", d.stateroot, "deploy", d.name()+".origin")
		content, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		d.origin = parseKeyfile(string(content))
		d.pinned = d.origin["libostree-transient"]["pinned"] == "true"
	}
	return list, nil
}

// statusLine matches a deployment in the output of "ostree admin status"
// (ostreedev/ostree, src/ostree/ot-admin-builtin-status.c).
var statusLine = regexp.MustCompile(`^([* ]) (\S+) ([0-9a-f]{64})\.(\d+)(.*)$`)

func parseStatus(status string) []deployment {
	var list []deployment
	for line := range strings.Lines(status) {
		match := statusLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if match == nil {
			continue
		}
		serial, _ := strconv.Atoi(match[4]) // matched as digits
		list = append(list, deployment{
			stateroot: match[2],
			checksum:  match[3],
			serial:    serial,
			index:     len(list),
			booted:    match[1] == "*",
			staged:    strings.Contains(match[5], "(staged)"),
			locked:    strings.Contains(match[5], "(finalization locked)"),
		})
	}
	return list
}

// roles are the deployments by their roles (crates/lib/src/status.rs, get_status).
type roles struct {
	staged, rollback *deployment
	booted           deployment
	other            []deployment
}

// rollbackQueued reports whether the rollback deployment boots next.
func (r roles) rollbackQueued() bool { return r.rollback != nil && r.rollback.index < r.booted.index }

// merge returns the deployment whose /etc, kernel arguments and origin a new deployment gets: the
// pending deployment, else the booted deployment (ostree_sysroot_get_merge_deployment).
func (r roles) merge() deployment {
	switch {
	case r.staged != nil:
		return *r.staged
	case r.rollbackQueued():
		return *r.rollback
	}
	return r.booted
}

func gatherRoles() (roles, error) {
	list, err := deployments()
	if err != nil {
		return roles{}, err
	}
	return assignRoles(list), nil
}

func assignRoles(list []deployment) roles {
	var r roles
	for _, d := range list {
		switch {
		case d.staged:
			r.staged = &d
		case d.booted:
			r.booted = d
		case r.rollback == nil:
			r.rollback = &d
		default:
			r.other = append(r.other, d)
		}
	}
	return r
}

// keyfile has the values of a GKeyFile by group and key.
type keyfile map[string]map[string]string

func parseKeyfile(content string) keyfile {
	file, group := keyfile{}, ""
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			group = strings.TrimSuffix(name, "]")
			file[group] = map[string]string{}
		} else if key, value, ok := strings.Cut(line, "="); ok && group != "" {
			file[group][strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return file
}

// String returns the content of the file without transient state, such as pins.
func (k keyfile) String() string {
	var out strings.Builder
	for _, group := range sortedKeys(k) {
		if group == "libostree-transient" {
			continue
		}
		fmt.Fprintf(&out, "[%s]\n", group)
		for _, key := range sortedKeys(k[group]) {
			fmt.Fprintf(&out, "%s=%s\n", key, k[group][key])
		}
	}
	return out.String()
}
