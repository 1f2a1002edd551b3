// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	ignerrors "github.com/coreos/ignition/v2/config/shared/errors"
	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/coreos/ignition/v2/config/validate"
	vreport "github.com/coreos/vcontext/report"
	"sigs.k8s.io/yaml"
)

const (
	// maxProblems is the number of problems of one config that are reported at once.
	maxProblems = 5
	// maxKeys is the number of keys that a config can have. Rendered worker payloads have about
	// 400. Ignition's validation keeps a tree node and a warning per unknown key: 500,000 took
	// 17.7 s and 600 MB.
	maxKeys = 50_000
)

// Parsed is a config that was parsed and validated. Resources that the config refers to were not checked.
type Parsed struct {
	Config   types.Config // translated to the newest spec
	Version  string       // the original spec
	Warnings []string     // of Ignition's own validation
}

// Format excludes the contents from every verb.
func (p Parsed) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "Ignition config of spec %s", p.Version)
}

// Parse parses a config of spec 3.0 to 3.6 with coreos/ignition's own parser and validation. It
// returns one error with the location of each fatal problem. As in Ignition, special mode bits are
// removed for specs before 3.6.
func Parse(raw []byte) (*Parsed, error) {
	if keys := bytes.Count(raw, []byte(`":`)); keys > maxKeys {
		return nil, fmt.Errorf("the config has %d keys; at most %d are supported", keys, maxKeys)
	}
	version, found, err := util.GetConfigVersion(raw)
	if wrong := detectWrongFormat(raw, err == nil); wrong != nil {
		return nil, wrong
	}
	if err == nil && (version.Major != 3 || version.Minor > types.MaxVersion.Minor) {
		hint := ""
		if version.Major == 2 {
			// OpenShift's servers select the spec by this header, and serve 2.2 without it.
			hint = `; if it is from a server, request it with the header ` +
				`"Accept: application/vnd.coreos.ignition+json;version=3.2.0"`
		}
		return nil, fmt.Errorf("the config has Ignition spec %s, which is not supported (3.0 to %d.%d are)%s",
			version, types.MaxVersion.Major, types.MaxVersion.Minor, hint)
	}
	parsed := &Parsed{Version: version.String()}
	if err == nil {
		parsed.Config, found, err = parseSpec(parsed.Version, raw)
	}
	switch {
	case errors.Is(err, ignerrors.ErrInvalidVersion):
		return nil, errors.New("not an Ignition config: ignition.version is missing")
	case err != nil && len(found.Entries) == 0:
		return nil, fmt.Errorf("not a valid Ignition config: %w", err)
	case err != nil:
		return nil, fmt.Errorf("not a valid Ignition config: %s", joinFirst(fatalProblems(found, types.Config{})))
	}
	for _, entry := range found.Entries {
		parsed.Warnings = append(parsed.Warnings, entry.String())
	}
	slices.Sort(parsed.Warnings) // Ignition reports unknown keys in random order
	parsed.Warnings = firstProblems(parsed.Warnings)
	return parsed, nil
}

// Validate validates a merged config and returns an error that lists the problems. Two valid
// configs can be invalid when merged, such as a file in one at the path of a unit in the other.
func Validate(config types.Config) error {
	if problems := fatalProblems(validate.ValidateWithContext(config, nil), config); len(problems) > 0 {
		return errors.New(joinFirst(problems))
	}
	return nil
}

// fatalProblems returns the fatal entries of a validation report. In a merged config, it adds the path of the
// storage entry, because the index is not in any file of the administrator.
func fatalProblems(found vreport.Report, merged types.Config) []string {
	var list []string
	for _, entry := range found.Entries {
		if !entry.Kind.IsFatal() {
			continue
		}
		problem := strings.TrimPrefix(entry.String(), "error ")
		if entry.Message == ignerrors.ErrInvalidScheme.Error() {
			problem += " (supported: data, http and https)"
		}
		if name := entryPath(merged.Storage, entry.Context.Path); name != "" {
			problem += " (" + name + ")"
		}
		list = append(list, problem)
	}
	return list
}

// entryPath returns the path of the storage entry that a problem refers to, "" for none.
func entryPath(storage types.Storage, path []any) string {
	if len(path) < 3 || path[0] != "storage" {
		return ""
	}
	switch i, _ := path[2].(int); {
	case path[1] == "files" && i < len(storage.Files):
		return storage.Files[i].Path
	case path[1] == "directories" && i < len(storage.Directories):
		return storage.Directories[i].Path
	case path[1] == "links" && i < len(storage.Links):
		return storage.Links[i].Path
	}
	return ""
}

// joinFirst joins the first problems of a list.
func joinFirst(list []string) string { return strings.Join(firstProblems(list), "; ") }

// firstProblems returns the first problems of a list, and the number of the remaining ones.
func firstProblems(list []string) []string {
	if more := len(list) - maxProblems; more > 0 {
		return append(list[:maxProblems:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return list
}

// detectWrongFormat returns an error for common mistakes in the choice of the file. The parser would only
// report that the file is not JSON, or has no version. JSON with a version is accepted.
func detectWrongFormat(raw []byte, hasVersion bool) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return errors.New("the config is empty")
	}
	if raw[0] == '{' && hasVersion {
		return nil
	}
	var object struct{ Kind, Variant string }
	if err := yaml.Unmarshal(raw, &object); err == nil {
		switch {
		case object.Kind == "Secret":
			return errors.New("the input is the Secret itself; use the config in its data.value")
		case object.Variant != "":
			return errors.New("the input is a Butane config; convert it to an Ignition config with butane")
		}
	}
	parseErr := json.NewDecoder(bytes.NewReader(raw)).Decode(&json.RawMessage{})
	switch {
	case raw[0] == '{' && errors.Is(parseErr, io.ErrUnexpectedEOF):
		return fmt.Errorf("the config is truncated: it ends in the middle of the JSON document (%d bytes)", len(raw))
	case raw[0] == '{' || parseErr == nil:
		return nil // the parser reports the problem
	}
	decoded, err := base64.StdEncoding.DecodeString(string(raw))
	if decoded = bytes.TrimSpace(decoded); err == nil && len(decoded) > 0 && decoded[0] == '{' {
		return errors.New("the input is base64; decode it with: base64 -d")
	}
	return errors.New("the input is not JSON, as an Ignition config and the response of the ignition server are")
}
