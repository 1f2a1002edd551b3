// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"encoding/json"
	"fmt"
	"slices"
)

// WithoutFile returns the payload without one file, which the agent keeps once the file is not
// needed any more.
func WithoutFile(raw []byte, path string) ([]byte, error) {
	var document map[string]any
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, fmt.Errorf("reading the payload: %w", err)
	}
	storage, _ := document["storage"].(map[string]any)
	files, _ := storage["files"].([]any)
	if len(files) == 0 {
		return raw, nil
	}
	storage["files"] = slices.DeleteFunc(files, func(file any) bool {
		entry, _ := file.(map[string]any)
		return entry["path"] == path
	})
	content, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encoding the payload: %w", err)
	}
	return content, nil
}
