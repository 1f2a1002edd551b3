package packages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Release is an OpenShift release, 4.18; the zero value is one that is not
// known.
type Release struct{ Major, Minor int }

// ParseRelease reads "4.18" and also "4.18.12".
func ParseRelease(text string) (Release, error) {
	parts := strings.Split(text, ".")
	if len(parts) < 2 {
		return Release{}, fmt.Errorf("%q is not an OpenShift release like 4.18", text)
	}
	major, errMajor := strconv.Atoi(parts[0])
	minor, errMinor := strconv.Atoi(parts[1])
	if errMajor != nil || errMinor != nil || major < 4 || minor < 0 {
		return Release{}, fmt.Errorf("%q is not an OpenShift release like 4.18", text)
	}
	return Release{major, minor}, nil
}

// IsZero tells that the release is not known.
func (r Release) IsZero() bool { return r == Release{} }

// String is "4.18".
func (r Release) String() string { return fmt.Sprintf("%d.%d", r.Major, r.Minor) }

// Compare is negative when r is the older one.
func (r Release) Compare(other Release) int {
	return cmp.Or(cmp.Compare(r.Major, other.Major), cmp.Compare(r.Minor, other.Minor))
}

// UnmarshalJSON reads "4.18"; YAML comes here too.
func (r *Release) UnmarshalJSON(content []byte) error {
	var text string
	if err := json.Unmarshal(content, &text); err != nil {
		return fmt.Errorf("a release is written as text, like \"4.18\": %w", err)
	}
	parsed, err := ParseRelease(text)
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}

// MarshalJSON writes "4.18".
func (r Release) MarshalJSON() ([]byte, error) { return json.Marshal(r.String()) }
