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
	differsGroupRemoval difference = "parting"
	differsLinkChain    difference = "chain"
	differsUserLinks    difference = "guarded"
)

// reasons has the reason for each difference.
var reasons = map[difference]string{
	differsRerun: "a second run finds all as it should be and does nothing, also where Ignition fails at the first file that is there, " +
		"appends again, or repeats lines of the preset file: the agent is run again after a kill and after an upgrade",
	differsIdentical:    "a file that is there already exactly as the config wants it is no error: it is what a first run leaves",
	differsHardLinks:    "a file that is appended to is replaced in one rename, so that it is never half written: its other names keep the old content",
	differsInode:        "a directory that is overwritten stays the directory that it is, with its attributes: only its content, owner and mode are made anew",
	differsSpecialFiles: "pipes, sockets and devices are not removed: they could not be given back",
	differsEmptyAppend:  "what is appended may have no source, and then is nothing; Ignition crashes",
	// Differences that random configs and comparisons exclude.
	differsUserLinks:  "links of unprivileged users lead only to directories of the same user: Ignition runs before there are users, the agent does not",
	differsMovedLink:  "a config that replaces a link its own paths lead through means another place at its second run",
	differsShadowDays: "the day of a password's last change is that of the run, and midnight can be between the two",
	differsGroupRemoval: "a config that wants a group and removes the user of that name is at odds with itself: userdel takes the group along, " +
		"and the second run makes it again",
	differsLinkChain: "links to links are followed to their end, inside the root; Ignition looks at one of them and leaves the rest to the kernel of " +
		"the machine that it runs on, which leads outside the root or nowhere",
}
