// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/site"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

const siteHeader = "apiVersion: hcp-node-agent.io/v1alpha1\nkind: SiteConfig\n"

// Hosts that install packages need the settings of the site, which a repeated run does not store again.
func TestSite(t *testing.T) {
	h := startHostedCluster(t)
	for _, format := range []Format{CloudInit, Kickstart, Ansible} {
		err := h.cluster.addSite(t.Context(), &HostInput{Format: format})
		reporttest.CheckFailure(t, err, report.Refused, "--format "+string(format)+" requires the settings of the site")
	}
	for format, hasSite := range map[Format]bool{Dir: false, Ignition: true} {
		input := HostInput{Format: format}
		if err := h.cluster.addSite(t.Context(), &input); err != nil || (input.Site != nil) != hasSite {
			t.Errorf("%s: %+v, %v", format, input.Site, err)
		}
	}
	for _, test := range []struct {
		content   string
		isChanged bool
	}{{"ntpServers: [a]", true}, {"ntpServers: [a]", false}, {"ntpServers: [b]", true}} {
		isChanged, err := h.cluster.StoreSite(t.Context(), []byte(siteHeader+test.content))
		if err != nil || isChanged != test.isChanged {
			t.Errorf("%s: changed %t, %v", test.content, isChanged, err)
		}
	}
	input := HostInput{Format: Kickstart}
	if err := h.cluster.addSite(t.Context(), &input); err != nil || input.Site.NTPServers[0] != "b" {
		t.Errorf("%+v, %v", input.Site, err)
	}
	input.Site = &site.Config{NTPServers: []string{"given"}}
	if err := h.cluster.addSite(t.Context(), &input); err != nil || input.Site.NTPServers[0] != "given" {
		t.Errorf("%+v, %v", input.Site, err)
	}
	h.Set(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: SiteSecret},
		Data:       map[string][]byte{"site.yaml": []byte("a: b")},
	})
	err := h.cluster.addSite(t.Context(), &HostInput{Format: Ignition})
	reporttest.CheckFailure(t, err, report.Refused, `Secret site in namespace hcp-node-admin of `)
}
