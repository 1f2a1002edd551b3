// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Input describes a host and the files that a payload changes on it.
type Input struct {
	Before, After Tree
	// Changed lists the files on which logins depend and that change, and the units of services for logins that
	// will not be started any more.
	Changed []string
	// From is the address from which the administrator logs in, or one of a network that is likely.
	From string
	// Administrator is the user who has become root with sudo; "" for none.
	Administrator string
	// Exists reports whether a file of any type exists on the host, such as a device.
	Exists func(p string) bool
}

// Check returns findings about logins that a payload prevents. It refuses the join if no user who can log in with SSH
// now could do so with the files of the payload, and if the host could not boot or authenticate with them.
func Check(ctx context.Context, in Input) []report.Finding {
	findings := slices.Concat(in.checkFiles(), in.checkUnits(), in.checkSudoers(ctx), in.checkSudo())
	users := Users(in.Before)
	if !slices.ContainsFunc(users, func(u User) bool { return u.Name == in.Administrator }) && in.Administrator != "" {
		if user, exists := remoteUser(ctx, in.Administrator); exists {
			users = append(users, user)
		}
	}
	before, err := readSettings(ctx, in.Before, users, in.From)
	if errors.Is(err, command.ErrNotInstalled) {
		return findings
	}
	if err != nil {
		return append(findings, warn("sshd -T", "who can log in after the join is unknown: %v", err))
	}
	after, err := readSettings(ctx, in.After, users, in.From)
	if err != nil {
		return append(findings, refuse(in.Changed, "sshd would not start with the files of the payload, and no user "+
			"could log in with SSH: %v", err))
	}
	return slices.Concat(findings, in.compare(users, before, after), in.checkListening(before, after))
}

// checkListening refuses addresses and ports of sshd among which none of the present ones is, and names those that
// it no longer has. They are the same for all users.
func (in Input) checkListening(before, after map[string]settings) []report.Finding {
	for name := range before {
		now, then := before[name]["listenaddress"], after[name]["listenaddress"]
		remains := func(address string) bool { return slices.Contains(then, address) }
		lost := slices.DeleteFunc(slices.Clone(now), remains)
		if len(lost) == 0 {
			return nil
		}
		message := fmt.Sprintf("from its next start on, sshd would listen on %s and no longer on %s",
			strings.Join(then, ", "), strings.Join(lost, ", "))
		if len(lost) < len(now) {
			return []report.Finding{warn(exclusion(in.Changed), "%s", message)}
		}
		return []report.Finding{refuse(in.Changed, "%s", message)}
	}
	return nil
}

// compare returns the findings about the users who can log in with the settings before, but not with those after.
func (in Input) compare(users []User, before, after map[string]settings) []report.Finding {
	var lost, kept []string
	causes := map[string]bool{}
	for _, user := range users {
		now := accessOf(in.Before, user, before[user.Name], in.From)
		then := now.remaining(accessOf(in.After, user, after[user.Name], in.From))
		switch {
		case !now.isPossible():
		case then.isPossible():
			kept = append(kept, user.Name)
		default:
			lost = append(lost, user.Name)
			for _, cause := range differing(before[user.Name], after[user.Name]) {
				causes[cause] = true
			}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	why := strings.Join(in.Changed, ", ")
	if len(causes) > 0 {
		why += ": " + strings.Join(slices.Sorted(maps.Keys(causes)), ", ")
	}
	if len(kept) == 0 {
		return []report.Finding{refuse(in.Changed, "from the next start of sshd on, no user could log in to this host with "+
			"SSH; now these users can: %s (the payload changes %s)", strings.Join(lost, ", "), why)}
	}
	return []report.Finding{warn(exclusion(in.Changed), "these users cannot log in with SSH from the next start of sshd "+
		"on: %s; these still can: %s (the payload changes %s)", strings.Join(lost, ", "), strings.Join(kept, ", "), why)}
}

// refuse returns a finding that refuses a join because of entries of the payload.
func refuse(entries []string, format string, args ...any) report.Finding {
	return report.Refusalf(exclusion(entries), format, args...)
}

func warn(remedy report.Remedy, format string, args ...any) report.Finding {
	return report.Findingf(report.SeverityWarning, remedy, format, args...)
}

// exclusion returns the command that excludes entries of the payload.
func exclusion(entries []string) report.Remedy {
	return report.Remedyf("hcp-node-agent join --payload-drop=%s # or give an account a way to log in that the payload "+
		"permits; on a host with another way in, such as a console: --ignore-logins",
		report.ShellWord(strings.Join(entries, ",")))
}
