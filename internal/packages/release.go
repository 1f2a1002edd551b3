// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Release is an OpenShift release such as 4.18. The zero value means unknown.
type Release struct{ Major, Minor int }

// ParseRelease parses "4.18" and "4.18.12".
func ParseRelease(text string) (Release, error) {
	parts := strings.Split(text, ".")
	if len(parts) < 2 {
		return Release{}, fmt.Errorf("%q is not an OpenShift release such as 4.18", text)
	}
	major, errMajor := strconv.Atoi(parts[0])
	minor, errMinor := strconv.Atoi(parts[1])
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

// UnmarshalJSON parses "4.18". YAML is converted to JSON first.
func (r *Release) UnmarshalJSON(content []byte) error {
	var text string
	if err := json.Unmarshal(content, &text); err != nil {
		return fmt.Errorf("a release must be a string such as \"4.18\": %w", err)
	}
	parsed, err := ParseRelease(text)
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}

// MarshalJSON returns "4.18" as a JSON string.
func (r Release) MarshalJSON() ([]byte, error) { return json.Marshal(r.String()) }
