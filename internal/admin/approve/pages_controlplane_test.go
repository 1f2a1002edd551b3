// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approve

import (
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// CSRs of kubelets are listed in one page, and CSRs of the maximum size in small pages. Each CSR
// is listed exactly once.
func TestControlPlaneListsInPagesThatFitMemory(t *testing.T) {
	hosted := openHosted(t, kubetest.Plane.Kubeconfig)
	want := map[string]bool{}
	for range 3 * csrPageSizeSmall {
		want[csrtest.ClientRequest{Client: csrtest.Bootstrapper(t), Key: certtest.NewKey(t), Node: "paged"}.Submit(t)] = true
	}
	list := func() (pages int) {
		found := map[string]int{}
		err := eachPage(t.Context(), hosted, certificatesv1.KubeAPIServerClientKubeletSignerName, func(page []kube.CSR) {
			pages++
			for n := range page {
				found[page[n].Name]++
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for name := range want {
			if found[name] != 1 {
				t.Errorf("%s came %d times", name, found[name])
			}
		}
		return pages
	}
	if pages := list(); pages != 1 {
		t.Errorf("small CSRs came in %d pages", pages)
	}
	for range 4 {
		want[csrtest.SubmitHuge(t, "paged-huge", nil)] = true
	}
	if pages := list(); pages < 3 {
		t.Errorf("with huge ones among them they came in %d pages", pages)
	}
}
