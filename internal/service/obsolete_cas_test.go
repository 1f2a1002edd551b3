// SPDX-License-Identifier: Apache-2.0

package service

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// trustingMonitor returns the monitor of a node that also trusts other CAs, all of the payload.
func trustingMonitor(t *testing.T, published *publishedCAs, others ...*certtest.CA) (*nodeMonitor, []byte) {
	t.Helper()
	m, own := monitorOf(t, published)
	m.state.APIServerCA = own
	for _, ca := range others {
		m.state.APIServerCA = slices.Concat(m.state.APIServerCA, ca.PEM)
	}
	config, err := clientcmd.LoadFromFile(m.kubeconfig)
	flowtest.NoError(t, err)
	config.Clusters["hosted"].CertificateAuthorityData = m.state.APIServerCA
	flowtest.NoError(t, clientcmd.WriteToFile(*config, m.kubeconfig))
	flowtest.NoError(t, m.openNode("boot"))
	return m, own
}

func TestObsoleteCAsAfterADay(t *testing.T) {
	former := certtest.NewCA(t, "former")
	published := &publishedCAs{}
	m, own := trustingMonitor(t, published, former)
	start := time.Unix(1795290000, 0)
	check := func(after time.Duration, want int) {
		t.Helper()
		m.cas = observation{version: m.cas.version, since: start.Add(-time.Hour)} // the published CAs are confirmed
		_, obsolete, err := m.caCheck().compare(t.Context(), start.Add(after))
		if err != nil || len(obsolete) != want {
			t.Errorf("after %s: %d obsolete CAs, want %d; %v", after, len(obsolete), want, err)
		}
	}
	confirmed := func(after time.Duration, want int) {
		t.Helper()
		_, _, err := m.caCheck().compare(t.Context(), start.Add(after)) // observes the version
		flowtest.NoError(t, err)
		check(after, want)
	}
	both := slices.Concat(own, former.PEM)

	published.publish(own)
	confirmed(0, 0) // never published: it can be that of a named certificate
	confirmed(100*time.Hour, 0)
	published.publish(both)
	confirmed(101*time.Hour, 0)
	published.publish(own)
	confirmed(102*time.Hour, 0)
	confirmed(125*time.Hour, 0)
	published.publish(both) // once more: the time begins again
	confirmed(126*time.Hour, 0)
	published.publish(own)
	confirmed(127*time.Hour, 0)
	confirmed(150*time.Hour, 0)
	confirmed(151*time.Hour, 1)
	published.publish([]byte("none"))
	if _, obsolete, err := m.caCheck().compare(t.Context(), start.Add(160*time.Hour)); err == nil || obsolete != nil {
		t.Errorf("a bundle without a CA: %v, %v", obsolete, err)
	}
	published.publish(own)
	m.cas = observation{}
	if _, obsolete, err := m.caCheck().compare(t.Context(), start.Add(161*time.Hour)); err != nil || obsolete != nil {
		t.Errorf("a bundle that is not confirmed: %v, %v", obsolete, err)
	}
	confirmed(162*time.Hour, 1)
	flowtest.NoError(t, os.WriteFile(filepath.Join(m.StateDir, joinstate.PublishedCAsFile), []byte("{"), 0o600))
	confirmed(163*time.Hour, 0) // damaged
}

// A repaired clock does not make a CA obsolete.
func TestPublishedCAsWithAWrongClock(t *testing.T) {
	ca := certtest.NewCA(t, "a").Certificate
	now := time.Unix(1795290000, 0)
	future := []joinstate.PublishedCA{{SHA256: digestOf(ca), Gone: now.Add(time.Hour)}}
	next := nextPublished(future, []*x509.Certificate{ca}, []*x509.Certificate{ca}, now)
	if len(next) != 1 || !next[0].Gone.Equal(now) {
		t.Errorf("%+v", next)
	}
}

func TestRemovableCAs(t *testing.T) {
	a, b, c := certtest.NewCA(t, "a").Certificate, certtest.NewCA(t, "b").Certificate, certtest.NewCA(t, "c").Certificate
	type list = []*x509.Certificate
	for name, test := range map[string]struct {
		trusted, own, gone list
		want               string
	}{
		"none":                        {list{a}, list{a}, nil, ""},
		"one":                         {list{a, b}, list{a, b}, list{b}, "b"},
		"one of the administrator":    {list{a, b}, list{a}, list{b}, ""},
		"one of each":                 {list{a, b, c}, list{a, c}, list{b, c}, "c"},
		"the last one":                {list{a}, list{a}, list{a}, ""},
		"all":                         {list{a, b}, list{a, b}, list{a, b}, ""},
		"the state has no CA":         {list{a, b}, nil, list{b}, ""},
		"all others are foreign CAs":  {list{a, b}, list{b}, list{a, b}, "b"},
		"the state has more than one": {list{a, b}, list{a, b, c}, list{b}, "b"},
	} {
		got := strings.Join(lists.Map(removableCAs(test.trusted, test.own, test.gone),
			func(ca *x509.Certificate) string { return ca.Subject.CommonName }), " ")
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// Without repairs, an obsolete CA is a finding. A new CA is trusted before an obsolete one is removed.
func TestObsoleteCAFinding(t *testing.T) {
	former := certtest.NewCA(t, "former")
	published := &publishedCAs{}
	m, own := trustingMonitor(t, published, former)
	flowtest.NoError(t, joinstate.SavePublishedCAs(m.StateDir, []joinstate.PublishedCA{
		{SHA256: digestOf(former.Certificate), Gone: time.Now().Add(-25 * time.Hour)},
	}))
	published.publish(slices.Concat(own, certtest.NewCA(t, "new").PEM))
	m.cas = observation{version: "openshift-dns/uid/1\n", since: time.Now().Add(-time.Hour)}
	found, err := m.caCheck().find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var reasons []report.Reason
	for _, one := range found {
		if one.Subject == "the cluster's CAs" {
			reasons = append(reasons, one.Reason)
		}
	}
	if !slices.Equal(reasons, []report.Reason{report.ClusterCANotTrusted, report.ClusterCAObsolete}) ||
		!strings.Contains(found[len(found)-1].Message, "former") {
		t.Errorf("%+v", found)
	}
	first, due := nextRepair([]Change{
		activeChange(report.ClusterCAObsolete, time.Time{}), activeChange(report.ClusterCANotTrusted, time.Time{}),
	}, nil, time.Now())
	if !due || first.Reason != report.ClusterCANotTrusted {
		t.Errorf("%+v", first)
	}
	published.publish(slices.Concat(own, former.PEM))
	if _, err := m.caCheck().remove(t.Context(), m.Options.Options); err == nil ||
		!strings.Contains(err.Error(), "have changed since the check") {
		t.Errorf("%v", err)
	}
}
