// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func TestRequiredEndpoints(t *testing.T) {
	userData := &ignition.UserData{
		Source: &url.URL{Scheme: "https", Host: "ignition.example.com", Path: "/ignition"},
		CAs:    [][]byte{certtest.NewCA(t, "ca").PEM},
	}
	proxied := &ignition.UserData{Source: userData.Source, Proxy: ignition.Proxy{HTTPS: "http://proxy:3128"}}
	const api = "the API server api.example.com:6443 TLS api.example.com"
	const ign = "the ignition server ignition.example.com:443 TLS ignition.example.com"
	for name, test := range map[string]struct {
		api      string
		userData *ignition.UserData
		payload  *ignition.Payload
		peers    []string
		want     []string
	}{
		"all": {
			"https://api.example.com:6443", userData, &ignition.Payload{Server: "ignition.example.com"},
			[]string{"bastion:22", "[2001:db8::1]:443"},
			[]string{api, ign, "peer bastion bastion:22", "peer 2001:db8::1 [2001:db8::1]:443"},
		},
		"the API server's default port": {
			"https://api.example.com", nil, nil, nil, []string{"the API server api.example.com:443 TLS api.example.com"},
		},
		"no payload yet":                 {"", userData, nil, nil, []string{ign}},
		"a payload that was kept":        {"https://api.example.com:6443", userData, &ignition.Payload{}, nil, []string{api}},
		"the ignition server by a proxy": {"https://api.example.com:6443", proxied, nil, nil, []string{api}},
		"nothing is known":               {"", nil, nil, nil, nil},
	} {
		run := &Run{Request: request.Request{Config: config.Join{RequiredEndpoints: test.peers}}}
		run.UserData, run.State.APIServer, run.State.APIServerCA = test.userData, test.api, certtest.NewCA(
			t,
			"ca",
		).PEM
		var got []string
		for _, reach := range run.RequiredEndpoints(test.payload) {
			text := reach.Name + " " + reach.Address
			if reach.TLS != nil {
				text += " TLS " + reach.TLS.ServerName
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
