// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"encoding/json"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/hcp-node-agent/hcp-node-agent/test/nodeimage"
)

// pushOSImage pushes an OS image of OpenShift 4.18 to the registry of the control plane, and returns
// its pull spec.
func pushOSImage(t *testing.T) string {
	t.Helper()
	image, err := mutate.Config(empty.Image, v1.Config{Labels: map[string]string{"version": "418.94.202501221327-0"}})
	must(t, err)
	return nodeimage.PushImage(t, environment.ControlPlane, image)
}

// payloadWithOSImage returns the control plane's payload with another OS image.
func payloadWithOSImage(t *testing.T, pullSpec string) []byte {
	t.Helper()
	payload := servedPayload(t)
	must(t, payload.SetOSImage(pullSpec))
	content, err := json.Marshal(payload)
	must(t, err)
	return content
}
