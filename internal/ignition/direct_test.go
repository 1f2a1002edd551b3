// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"net/url"
	"testing"
)

func TestDirectAddress(t *testing.T) {
	userData := func(source string, proxy Proxy) *UserData {
		parsed, err := url.Parse(source)
		if err != nil {
			t.Fatal(err)
		}
		return &UserData{Source: parsed, Proxy: proxy}
	}
	for name, test := range map[string]struct {
		userData        *UserData
		connectTo       string
		address, server string // empty: through a proxy
	}{
		"a route": {
			userData("https://ignition.example.com/ignition", Proxy{}), "", "ignition.example.com:443", "ignition.example.com",
		},
		"a port": {
			userData("https://api.example.com:22623/config/worker", Proxy{}), "", "api.example.com:22623", "api.example.com",
		},
		"IPv6": {
			userData("https://[2001:db8::1]:22623/config/worker", Proxy{}), "", "[2001:db8::1]:22623", "2001:db8::1",
		},
		"dialled elsewhere": {
			userData("https://ignition.example.com/ignition", Proxy{}), "192.0.2.1:31000", "192.0.2.1:31000",
			"ignition.example.com",
		},
		"by a proxy": {
			userData("https://ignition.example.com/ignition", Proxy{HTTPS: "http://proxy:3128"}), "", "", "",
		},
		"past the proxy": {
			userData("https://ignition.example.com/ignition", Proxy{HTTPS: "http://proxy:3128", No: []string{".example.com"}}),
			"", "ignition.example.com:443", "ignition.example.com",
		},
		"by a bad proxy":        {userData("https://ignition.example.com/ignition", Proxy{HTTPS: "http://a b"}), "", "", ""},
		"no user data":          {nil, "", "", ""},
		"user data without one": {&UserData{}, "", "", ""},
	} {
		address, trust, ok := Fetcher{ConnectTo: test.connectTo}.DirectAddress(test.userData)
		if ok != (test.address != "") || address != test.address {
			t.Errorf("%s: %q, %t", name, address, ok)
		}
		if ok && (trust.ServerName != test.server || trust.RootCAs == nil || trust.InsecureSkipVerify) {
			t.Errorf("%s: it trusts %q", name, trust.ServerName)
		}
	}
}
