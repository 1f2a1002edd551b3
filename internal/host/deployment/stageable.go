// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	statusRemedy = "rpm-ostree status"
	// layeredRemedy names no command that removes all packages: those of extensions and kernel types belong to the node.
	layeredRemedy = "rpm-ostree status # extensions and kernel types of the NodePool: provision the host again with its " +
		"user data; other packages: add them to the image, and remove them from this host with rpm-ostree uninstall"
)

// CheckStageable returns the reasons why an image with the digest must not be staged. A pinned deployment is none: it
// remains beside the staged one.
func CheckStageable(s Status, digest string) []report.Finding {
	return slices.Concat(CheckVolatile(s), CheckLayered(s.Booted), checkNext(s, digest))
}

// CheckVolatile returns the reasons why the next boot would discard changes of the host.
func CheckVolatile(s Status) []report.Finding {
	var found []report.Finding
	if s.TransientEtc {
		found = append(found, report.Refusalf("# remove transient=true of section [etc] from "+
			"/usr/lib/ostree/prepare-root.conf of the image, and update the host to it",
			"the image makes /etc temporary: the next boot would discard the files of the node"))
	}
	if s.Unlocked {
		found = append(found, report.Refusalf("# the next boot discards the changes of /usr: systemctl reboot",
			"/usr is unlocked (bootc usr-overlay): the node would run software that the next boot discards"))
	}
	return found
}

// CheckLayered returns a finding if packages were layered onto the image of a deployment, or removed from it.
// rpm-ostree layers the packages onto each new image, for which it requires their repositories. bootc upgrade refuses
// such a deployment, and bootc switch loses the packages (bootc, crates/lib/src/cli.rs).
func CheckLayered(d Deployment) []report.Finding {
	if !d.Modified {
		return nil
	}
	return []report.Finding{report.Refusalf(layeredRemedy,
		"packages are layered onto the image (%s): an update of the image would fail or lose them",
		cmp.Or(strings.Join(d.Packages, ", "), "unknown"))}
}

// checkNext returns a finding if the next boot runs another deployment than the booted one, or one of the image with
// the digest.
func checkNext(s Status, digest string) []report.Finding {
	switch {
	case s.RollbackQueued && s.Rollback != nil:
		return []report.Finding{report.Refusalf(
			"rpm-ostree status # then reboot the host, or revert the rollback: rpm-ostree rollback",
			"a rollback is queued, so that the next boot runs %s", s.Rollback.Describe(s.Booted))}
	case s.Staged != nil && !s.Staged.HasDigest(digest):
		return []report.Finding{report.Refusalf(
			"rpm-ostree status # then reboot the host, or remove the staged deployment: rpm-ostree cleanup -p",
			"another deployment is staged, which the agent does not replace: %s", s.Staged.Describe(s.Booted))}
	}
	return nil
}
