// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

const bearerToken = "eyJhbGciOiJSUzI1NiJ9.CANARY.c2ln" //nolint:gosec // of the test

// clusterOptions returns options of a join token whose host gets the user data from the cluster.
func clusterOptions(t testing.TB) Options {
	t.Helper()
	ca := certtest.NewCA(t, "ca").PEM
	return Options{NodeName: "worker-7", ClusterCA: ca, Cluster: &Cluster{
		Server: "https://api.example.com:6443", CA: string(ca), BearerToken: bearerToken, Secret: "user-data-workers",
	}}
}

func TestTokenWithCluster(t *testing.T) {
	desired := clusterOptions(t)
	token, _ := newToken(t, desired)
	content, err := token.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseToken(content)
	if err != nil || read.Cluster == nil || *read.Cluster != *desired.Cluster {
		t.Fatalf("%v, %v", read, err)
	}
	summary, err := ParseSummary(content, noon)
	if err != nil || summary.Server != desired.Cluster.Server || summary.Secret != desired.Cluster.Secret {
		t.Errorf("summary %+v, %v", summary, err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{*read.Cluster, read.Cluster, read, struct{ C *Cluster }{read.Cluster}, summary} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, "CANARY") {
				t.Errorf("%s prints %s", verb, text)
			}
		}
	}
}

func TestInvalidClusters(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"user data": {func(o *Options) { o.UserData = []byte("{}") }, "userData and cluster exclude each other"},
		"http":      {func(o *Options) { o.Cluster.Server = "http://api.example.com" }, "not an https URL"},
		"no host":   {func(o *Options) { o.Cluster.Server = "https://:6443" }, "not an https URL"},
		"user":      {func(o *Options) { o.Cluster.Server = "https://CANARY@a" }, "not an https URL"},
		"query":     {func(o *Options) { o.Cluster.Server = "https://a?CANARY" }, "not an https URL"},
		"no URL":    {func(o *Options) { o.Cluster.Server = "https://a:b" }, "not an https URL"},
		"no CA":     {func(o *Options) { o.Cluster.CA = "CANARY" }, "no certificate in PEM format"},
		"another CA": {
			func(o *Options) { o.Cluster.CA = string(certtest.NewCA(t, "b").PEM) }, "no certificate of clusterCA",
		},
		"no token":        {func(o *Options) { o.Cluster.BearerToken = "" }, "not a bearer token"},
		"two lines":       {func(o *Options) { o.Cluster.BearerToken = "CANARY\nb" }, "not a bearer token"},
		"blank":           {func(o *Options) { o.Cluster.BearerToken = "CANARY b" }, "not a bearer token"},
		"long token":      {func(o *Options) { o.Cluster.BearerToken = strings.Repeat("a", 16<<10+1) }, "not a bearer token"},
		"no Secret":       {func(o *Options) { o.Cluster.Secret = "" }, "is not the name of a Secret"},
		"path":            {func(o *Options) { o.Cluster.Secret = "../nodes" }, "is not the name of a Secret"},
		"upper case":      {func(o *Options) { o.Cluster.Secret = "A" }, "is not the name of a Secret"},
		"long name":       {func(o *Options) { o.Cluster.Secret = strings.Repeat("a", 254) }, "is not the name of a Secret"},
		"control letters": {func(o *Options) { o.Cluster.BearerToken = "CANARY\x1b" }, "not a bearer token"},
	} {
		desired := clusterOptions(t)
		test.change(&desired)
		if _, _, err := New(desired, noon); err == nil || !strings.Contains(err.Error(), test.want) ||
			strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
