// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	ignerrors "github.com/coreos/ignition/v2/config/shared/errors"
	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/coreos/ignition/v2/config/validate"
	vreport "github.com/coreos/vcontext/report"
)

const (
	// maxProblems is the number of problems of one config that are reported at once.
	maxProblems = 5
	// maxKeys is the number of keys that a config can have. Rendered worker payloads have about
	// 400. Ignition's validation keeps a tree node and a warning per unknown key: 500,000 took
	// 17.7 s and 600 MB.
	maxKeys = 50_000
)

// Parse parses a config of spec 3.0 to 3.6 with coreos/ignition's own parser and validation. It
// returns warnings, and one error with the location of each fatal problem. As in Ignition,
// special mode bits are removed for specs before 3.6. Resources that the config refers to are
// not checked.
func Parse(raw []byte) (config types.Config, version string, warnings []string, err error) {
	if keys := bytes.Count(raw, []byte(`":`)); keys > maxKeys {
		return config, "", nil, fmt.Errorf("the config has %d keys; at most %d are supported", keys, maxKeys)
	}
	parsed, found, err := util.GetConfigVersion(raw)
	if wrong := detectWrongFormat(raw, err == nil); wrong != nil {
		return config, "", nil, wrong
	}
	if err == nil && parsed.Major == 2 {
		// OpenShift's servers select the spec by this header, and serve 2.2 without it.
		return config, "", nil, fmt.Errorf("the config has Ignition spec %s, which is not supported (3.0 to %d.%d are): request the config with the header "+
			`"Accept: application/vnd.coreos.ignition+json;version=3.2.0", or use the config of a newer release`,
			parsed, types.MaxVersion.Major, types.MaxVersion.Minor)
	}
	if err == nil && (parsed.Major != 3 || parsed.Minor > types.MaxVersion.Minor) {
		return config, "", nil, fmt.Errorf("the config has Ignition spec %s, which is not supported (3.0 to %d.%d are)",
			parsed, types.MaxVersion.Major, types.MaxVersion.Minor)
	}
	if err == nil {
		config, found, err = v3_6.ParseCompatibleVersion(raw)
	}
	switch {
	case errors.Is(err, ignerrors.ErrEmpty):
		return config, "", nil, errors.New("the config is empty")
	case errors.Is(err, ignerrors.ErrInvalidVersion):
		return config, "", nil, errors.New("not an Ignition config: ignition.version is missing")
	case err != nil && len(found.Entries) == 0:
		return config, "", nil, fmt.Errorf("not a valid Ignition config: %w", err)
	case err != nil:
		return config, "", nil, fmt.Errorf("not a valid Ignition config: %s", joinFirst(fatalProblems(found)))
	}
	return config, parsed.String(), firstWarnings(found), nil
}

// firstWarnings returns the first warnings of the parser, sorted, because Ignition reports unknown keys
// in random order.
func firstWarnings(found vreport.Report) []string {
	var warnings []string
	for _, entry := range found.Entries {
		warnings = append(warnings, entry.String())
	}
	slices.Sort(warnings)
	return firstProblems(warnings)
}

// Validate validates a merged config and returns an error that lists the problems. Two valid
// configs can be invalid when merged, such as a file in one at the path of a unit in the other.
func Validate(config types.Config) error {
	found := validate.ValidateWithContext(config, nil)
	if !found.IsFatal() {
		return nil
	}
	var list []string
	for _, entry := range found.Entries {
		if entry.Kind.IsFatal() {
			list = append(list, trimErrorPrefix(entry)+entryPath(config, entry.Context.Path))
		}
	}
	return errors.New(joinFirst(list))
}

// entryPath returns the path of the storage entry that a problem refers to. The index of the entry
// in the merged config is not in any file of the administrator.
func entryPath(config types.Config, path []any) string {
	if len(path) < 3 || path[0] != "storage" {
		return ""
	}
	i, _ := path[2].(int)
	var name string
	switch storage := config.Storage; {
	case path[1] == "files" && i < len(storage.Files):
		name = storage.Files[i].Path
	case path[1] == "directories" && i < len(storage.Directories):
		name = storage.Directories[i].Path
	case path[1] == "links" && i < len(storage.Links):
		name = storage.Links[i].Path
	default:
		return ""
	}
	return fmt.Sprintf(" (%s)", name)
}

// fatalProblems returns the fatal entries of a validation report.
func fatalProblems(found vreport.Report) []string {
	var list []string
	for _, entry := range found.Entries {
		if !entry.Kind.IsFatal() {
			continue
		}
		problem := trimErrorPrefix(entry)
		if entry.Message == ignerrors.ErrInvalidScheme.Error() {
			problem += " (supported: data, http and https)"
		}
		list = append(list, problem)
	}
	return list
}

func trimErrorPrefix(entry vreport.Entry) string { return strings.TrimPrefix(entry.String(), "error ") }

// joinFirst joins the first problems of a list.
func joinFirst(list []string) string { return strings.Join(firstProblems(list), "; ") }

// firstProblems returns the first problems of a list, and the number of the remaining ones.
func firstProblems(list []string) []string {
	if more := len(list) - maxProblems; more > 0 {
		return append(list[:maxProblems:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return list
}
