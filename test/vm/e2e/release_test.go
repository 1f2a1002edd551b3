// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
)

// pushOSImage pushes an OS image of OpenShift 4.18 to the registry of the control plane, and returns
// its pull spec.
func pushOSImage(t *testing.T) string {
	t.Helper()
	image, err := mutate.Config(empty.Image, v1.Config{Labels: map[string]string{"version": "418.94.202501221327-0"}})
	must(t, err)
	return pushImage(t, image)
}

// payloadWithOSImage returns the control plane's payload with another OS image.
func payloadWithOSImage(t *testing.T, pullSpec string) []byte {
	t.Helper()
	payload := readPayload(t)
	storage, _ := payload["storage"].(map[string]any)
	files, _ := storage["files"].([]any)
	for _, one := range files {
		file, _ := one.(map[string]any)
		if file["path"] != ignition.MachineConfigPath {
			continue
		}
		contents, _ := file["contents"].(map[string]any)
		source, _ := contents["source"].(string)
		text, err := url.PathUnescape(strings.TrimPrefix(source, "data:,"))
		must(t, err)
		var config map[string]any
		must(t, json.Unmarshal([]byte(text), &config))
		spec, _ := config["spec"].(map[string]any)
		spec["osImageURL"] = pullSpec
		changed, err := json.Marshal(config)
		must(t, err)
		contents["source"] = "data:," + url.PathEscape(string(changed))
	}
	content, err := json.Marshal(payload)
	must(t, err)
	return content
}
