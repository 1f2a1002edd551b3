// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"

	"sigs.k8s.io/yaml"
)

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
	if raw[0] == '{' || json.Valid(raw) {
		return nil // the parser reports the problem
	}
	decoded, err := base64.StdEncoding.DecodeString(string(raw))
	if decoded = bytes.TrimSpace(decoded); err == nil && len(decoded) > 0 && decoded[0] == '{' {
		return errors.New("the input is base64; decode it with: base64 -d")
	}
	return errors.New("the config is not JSON")
}
