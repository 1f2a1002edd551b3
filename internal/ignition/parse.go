package ignition

import (
	"errors"
	"fmt"
	"strings"

	ignerrors "github.com/coreos/ignition/v2/config/shared/errors"
	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	vreport "github.com/coreos/vcontext/report"
)

// maxProblems is how many problems of one config are told at once.
const maxProblems = 5

// parse reads a config of spec 3.0 to 3.6 with coreos/ignition's own parser
// and validation. Warnings are returned, everything fatal becomes one error
// with the place of each problem. Special mode bits are taken off for specs
// before 3.6, as Ignition does.
func parse(raw []byte) (config types.Config, version string, warnings []string, err error) {
	parsed, _, err := util.GetConfigVersion(raw)
	if err == nil && (parsed.Major != 3 || parsed.Minor > types.MaxVersion.Minor) {
		return config, "", nil, fmt.Errorf("it is of Ignition spec %s; specs 3.0 to %d.%d can be read",
			parsed, types.MaxVersion.Major, types.MaxVersion.Minor)
	}
	config, found, err := v3_6.ParseCompatibleVersion(raw)
	switch {
	case errors.Is(err, ignerrors.ErrEmpty):
		return config, "", nil, fmt.Errorf("it is empty")
	case errors.Is(err, ignerrors.ErrInvalidVersion):
		return config, "", nil, fmt.Errorf("it has no ignition.version, so it is no Ignition config")
	case err != nil && len(found.Entries) == 0:
		return config, "", nil, fmt.Errorf("it is not a valid Ignition config: %w", err)
	case err != nil:
		return config, "", nil, fmt.Errorf("it is not a valid Ignition config: %s", problems(found))
	}
	for _, entry := range found.Entries {
		warnings = append(warnings, entry.String())
	}
	return config, parsed.String(), warnings, nil
}

// problems lists the fatal entries of a validation report.
func problems(found vreport.Report) string {
	var list []string
	for _, entry := range found.Entries {
		if entry.Kind.IsFatal() {
			list = append(list, strings.TrimPrefix(entry.String(), "error "))
		}
	}
	if more := len(list) - maxProblems; more > 0 {
		list = append(list[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "; ")
}
