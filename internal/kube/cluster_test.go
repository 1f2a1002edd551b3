// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func TestClusterCheckSame(t *testing.T) {
	old, fresh, foreign := certtest.NewCA(t, "old"), certtest.NewCA(t, "new"), certtest.NewCA(t, "foreign")
	cluster := Cluster{Server: "https://api.example.com:6443", CA: append(append([]byte{}, old.PEM...), fresh.PEM...)}
	tests := map[string]struct {
		other Cluster
		want  string // "" if both are the same
	}{
		"equal":                   {cluster, ""},
		"one authority in common": {Cluster{Server: "https://API.example.com:6443/", CA: old.PEM}, ""},
		"another port": {
			Cluster{Server: "https://api.example.com", CA: old.PEM},
			"https://api.example.com, not for",
		},
		"another name": {
			Cluster{Server: "https://api.other.example.com:6443", CA: old.PEM},
			"other.example.com",
		},
		"same name, reinstalled": {Cluster{Server: "https://api.example.com:6443", CA: foreign.PEM}, "reinstalled"},
		"no certificate in the PEM": {
			Cluster{Server: "https://api.example.com:6443", CA: []byte("x")},
			"does not contain any valid RSA or ECDSA certificates",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := cluster.CheckSame(test.other)
			if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("CheckSame() = %v, want %q", err, test.want)
			}
		})
	}
	port := Cluster{Server: "https://api.example.com:443", CA: old.PEM}
	if err := port.CheckSame(Cluster{Server: "https://api.example.com", CA: old.PEM}); err != nil {
		t.Errorf("the port that https implies makes a difference: %v", err)
	}
}
