// SPDX-License-Identifier: Apache-2.0

//go:build differential

package differential

// difference is a deliberate difference between the agent and Ignition.
type difference string

const (
	differsRerun        difference = "again"
	differsIdentical    difference = "same"
	differsHardLinks    difference = "names"
	differsInode        difference = "inode"
	differsSpecialFiles difference = "special"
	differsEmptyAppend  difference = "nothing"
	differsMovedLink    difference = "moved"
	differsShadowDays   difference = "days"
	differsExisting     difference = "existing"
	differsLinkChain    difference = "chain"
	differsUserLinks    difference = "links"
)

// reasons has the reason for each difference.
var reasons = map[difference]string{
	differsRerun: "a second run finds the desired state and changes nothing, also where Ignition fails at the first " +
		"existing file, " +
		"appends again, or repeats lines of the preset file: the agent is run again after a kill and after an upgrade",
	differsIdentical: "an existing file that is exactly as in the config is no error: a first run leaves it so",
	differsHardLinks: "a file that is appended to is replaced in one rename, so that it is never incomplete: its " +
		"other names keep the old content",
	differsInode: "a directory that is overwritten remains the same directory, with its attributes: only its " +
		"content, owner and mode are replaced",
	differsSpecialFiles: "pipes, sockets and devices are not removed: they could not be restored",
	differsEmptyAppend:  "an appended content without a source is empty; Ignition crashes",
	differsExisting: "an account that exists already gets SSH keys only: the agent could not restore a removed account, " +
		"a moved home directory or another owner",
	// Differences that random configs and comparisons exclude.
	differsUserLinks: "links of unprivileged users lead only to directories of the same user: Ignition runs before " +
		"there are users, the agent does not",
	differsMovedLink:  "a config that replaces a link in its own paths refers to other files in its second run",
	differsShadowDays: "the day of a password's last change is that of the run, and midnight can be between two runs",
	differsLinkChain: "links to links are followed to their end, inside the root; Ignition resolves one of them and " +
		"leaves the rest to the kernel of " +
		"the machine on which it runs, which leads outside the root or nowhere",
}
