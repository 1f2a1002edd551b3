// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// Decode reads a stored document of a kind. It refuses a document of another version, or with a field that
// this version does not know: the next write would drop it. Other errors mean that the document is damaged.
func Decode(kind string, content []byte, into any) error {
	var meta TypeMeta
	if err := json.Unmarshal(content, &meta); err != nil {
		return err
	}
	if expected := Meta(kind); meta != expected {
		return RefuseFormat("the file is of kind %q in version %q, not of kind %s in version %s",
			meta.Kind, meta.APIVersion, expected.Kind, expected.APIVersion)
	}
	return DecodeFields(content, into)
}

// DecodeFields reads a part of a stored document whose version is checked. It refuses a field that this version does
// not know.
func DecodeFields(content []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		if field, isUnknown := strings.CutPrefix(err.Error(), "json: unknown field "); isUnknown {
			return RefuseFormat("this version of the agent does not know the field %s of the file", field)
		}
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is data after the document")
	}
	return nil
}

// Encode returns a stored document, whose TypeMeta is set, as Decode reads it.
func Encode(document any) ([]byte, error) {
	content, err := json.MarshalIndent(document, "", "  ")
	return append(content, '\n'), err
}

// formatRemedy is the remedy for what another version has written. The pattern selects the agent and
// hcp-node-admin, whichever is installed.
const formatRemedy = "dnf upgrade 'hcp-node-*' # install the version that wrote it, or a newer one"

// RefuseFormat returns the failure for data that another version of the agent or of hcp-node-admin wrote.
func RefuseFormat(problem string, args ...any) error {
	return Fail(Refused, formatRemedy, problem+"; nothing was changed", args...)
}
