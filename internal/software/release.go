// SPDX-License-Identifier: Apache-2.0

package software

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Release is an OpenShift release such as 4.18. The zero value means unknown.
type Release struct{ Major, Minor int }

// ParseRelease parses "4.18" and "4.18.12".
func ParseRelease(text string) (Release, error) {
	majorText, rest, _ := strings.Cut(text, ".")
	minorText, _, _ := strings.Cut(rest, ".")
	major, errMajor := strconv.Atoi(majorText)
	minor, errMinor := strconv.Atoi(minorText)
	if errMajor != nil || errMinor != nil || major < 4 || minor < 0 {
		return Release{}, fmt.Errorf("%q is not an OpenShift release such as 4.18", text)
	}
	return Release{major, minor}, nil
}

// IsZero reports whether the release is unknown.
func (r Release) IsZero() bool { return r == Release{} }

// String returns "4.18".
func (r Release) String() string { return fmt.Sprintf("%d.%d", r.Major, r.Minor) }

// Compare returns a negative number if r is older than other, and 0 if they are equal.
func (r Release) Compare(other Release) int {
	return cmp.Or(cmp.Compare(r.Major, other.Major), cmp.Compare(r.Minor, other.Minor))
}

// UnmarshalText parses "4.18".
func (r *Release) UnmarshalText(content []byte) error {
	var err error
	*r, err = ParseRelease(string(content))
	return err
}

// MarshalText returns "4.18".
func (r Release) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
