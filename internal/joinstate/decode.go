// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Decode reads a record of the agent. It refuses a record of another version, or with a field that this
// version does not know: the next write would drop it.
func Decode(kind string, content []byte, into any) error {
	var meta report.TypeMeta
	if err := json.Unmarshal(content, &meta); err != nil {
		return err
	}
	if want := report.Meta(kind); meta != want {
		return refuseRecord("the file is of kind %q in version %q, not of kind %s in version %s",
			meta.Kind, meta.APIVersion, want.Kind, want.APIVersion)
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		if field, isUnknown := strings.CutPrefix(err.Error(), "json: unknown field "); isUnknown {
			return refuseRecord("this version of the agent does not know the field %s of the file", field)
		}
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is data after the record")
	}
	return nil
}

// refuseRecord returns the failure for a record that another version of the agent wrote.
func refuseRecord(problem string, args ...any) error {
	return report.Fail(report.Refused,
		"dnf upgrade hcp-node-agent # install the version of the agent that wrote the file, or a newer one",
		problem+"; nothing was changed", args...)
}
