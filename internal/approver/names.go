package approver

import (
	"regexp"
	"strconv"
)

// plainName matches the CSR names that can be shown and pasted as they are.
// The API server accepts nearly any text as a CSR's name, and whoever may create
// CSRs chooses it.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// DisplayName returns a CSR's name for a message, quoted unless it is plain.
func DisplayName(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return strconv.Quote(shortenTo(mostNode, name))
}

// commandFor returns a command about a CSR, or "" for a name that must not be
// pasted into a shell.
func commandFor(before, name, after string) string {
	if !plainName.MatchString(name) {
		return ""
	}
	return before + name + after
}
