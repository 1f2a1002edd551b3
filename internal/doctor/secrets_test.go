// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/base64"
	"fmt"
	"slices"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
)

// The password of the cluster's proxy must be masked in the whole bundle, even if
// the payload contains it only in a static pod.
func TestPayloadSecretsContainTheProxyPasswordOfAStaticPod(t *testing.T) {
	pod := "spec:\n  containers:\n  - command:\n    - kubernetes-default-proxy\n    - --proxy-addr=me:s3cr3t-word@proxy.example.com:3128\n"
	payload, err := ignition.LoadPayload(fmt.Appendf(nil,
		`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/kubernetes/manifests/kube-apiserver-proxy.yaml","mode":420,"contents":{"source":"data:;base64,%s"}}]}}`,
		base64.StdEncoding.EncodeToString([]byte(pod))))
	if err != nil {
		t.Fatal(err)
	}
	if found := payloadSecrets(payload); !slices.Contains(found, "s3cr3t-word") {
		t.Errorf("found %q", found)
	}
}
