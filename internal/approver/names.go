// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"regexp"
	"strconv"
)

// plainName matches CSR names that can be printed and pasted unquoted. The API server accepts
// nearly any text as the name of a CSR, and the requestor chooses it.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// DisplayName returns a CSR's name for a message, quoted unless it is plain.
func DisplayName(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return strconv.Quote(truncateTo(maxNodeNameLength, name))
}

// commandFor returns a command for a CSR, or "" if the CSR's name must not be pasted into a
// shell.
func commandFor(before, name, after string) string {
	if !plainName.MatchString(name) {
		return ""
	}
	return before + name + after
}
