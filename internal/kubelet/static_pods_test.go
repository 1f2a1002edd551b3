// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"slices"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

func TestStaticPodImages(t *testing.T) {
	file := func(target, content string) ledger.Change {
		return ledger.Change{Kind: ledger.File, Target: target, Desired: ledger.FileState([]byte(content), 0o644)}
	}
	changes := []ledger.Change{
		file("/etc/kubernetes/manifests/proxy.yaml",
			"spec:\n  initContainers: [{image: setup}]\n  containers: [{image: proxy}, {image: other}]\n"),
		file("/etc/kubernetes/manifests/second.yaml", "spec:\n  containers: [{image: proxy}]\n"),
		file("/etc/kubernetes/kubelet.conf", "spec:\n  containers: [{image: none}]\n"),
	}
	images, err := StaticPodImages(changes)
	if err != nil || !slices.Equal(images, []string{"setup", "proxy", "other"}) {
		t.Errorf("images %q, %v", images, err)
	}
	if _, err := StaticPodImages([]ledger.Change{file("/etc/kubernetes/manifests/a.yaml", "[")}); err == nil {
		t.Error("a manifest that cannot be parsed is not an error")
	}
}
