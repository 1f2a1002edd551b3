// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func TestBearerHeader(t *testing.T) {
	coded := strings.TrimPrefix(testBearer, "Bearer ")
	tests := []struct{ name, token, want string }{
		{"UUID", testUUID, testBearer},
		{"UUID in a file", testUUID + "\n", testBearer},
		{"base64 as in the Secret", coded, testBearer},
		{"whole header", testBearer, testBearer},
		{"whole header with a UUID", "bearer " + testUUID, testBearer},
		{"base64 of an echo", base64.StdEncoding.EncodeToString([]byte(testUUID + "\n")), testBearer},
		{"another kind of token", "b3RoZXI=", "Bearer b3RoZXI="},
		{"neither", "not a token", ""},
		{"text", "hello!", ""},
		{"UUID with a wrong digit", "zf0c7c1e-7d06-4418-b6cb-9f552727ae15", ""},
		{"Basic", "Basic " + coded, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := bearerHeader([]byte(test.token))
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("bearer = %q, %v; want %q", got, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), test.token) {
				t.Errorf("the error shows the token: %v", err)
			}
		})
	}
}

func TestParseEndpoint(t *testing.T) {
	tests := []struct{ given, want string }{
		{"ignition.example.com", "https://ignition.example.com/ignition"},
		{" ignition.example.com:31234\n", "https://ignition.example.com:31234/ignition"},
		{"192.0.2.7:31234", "https://192.0.2.7:31234/ignition"},
		{"fd00::1", "https://[fd00::1]/ignition"},
		{"[fd00::1]:31234", "https://[fd00::1]:31234/ignition"},
		{"https://ignition.example.com", "https://ignition.example.com/ignition"},
		{"https://ignition.example.com/", "https://ignition.example.com/ignition"},
		{"https://ignition.example.com//ignition", "https://ignition.example.com/ignition"},
		{"https://ignition.example.com/x/../ignition", "https://ignition.example.com/ignition"},
		{"https://ignition.example.com//ignition/", "https://ignition.example.com/ignition/"},
		{"https://ignition.example.com//", "https://ignition.example.com/ignition"},
		{"https://ignition.example.com:443/ignition", "https://ignition.example.com:443/ignition"},
		{"https://api-int.example.com:22623/config/worker", "https://api-int.example.com:22623/config/worker"},
		{"http://ignition.example.com", "http is not allowed"},
		{"ftp://ignition.example.com", `unsupported scheme "ftp"`},
		{"https://", "the host is missing"},
		{"https://me@ignition.example.com", "user name"},
		{"https://ignition.example.com/#a", "fragment"},
		{"https://[", "must be HOST, HOST:PORT or an https URL"},
	}
	for _, test := range tests {
		got, err := parseEndpoint(test.given)
		switch {
		case err != nil:
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("endpoint(%q): error %v, want %q", test.given, err, test.want)
			}
		case got.String() != test.want:
			t.Errorf("endpoint(%q) = %s, want %s", test.given, got, test.want)
		}
	}
}

func TestNewUserData(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca").PEM
	userData, err := NewUserData(Values{
		Endpoint: "ignition.demo.example.com", Token: []byte(testUUID), CA: ca, NodePool: "clusters/demo-workers",
		Hash: "844282c1",
	})
	if err != nil {
		t.Fatal(err)
	}
	userData.Proxy = Proxy{
		HTTP:  "http://proxy.example.com:3128",
		HTTPS: "http://user:hunter2@proxy.example.com:3128",
		No:    []string{".cluster.local", "10.0.0.0/8"},
	}
	checkDemoUserData(t, userData, ca)

	tests := []struct {
		name   string
		values Values
		want   string
	}{
		{"no endpoint", Values{CA: ca, Token: []byte(testUUID)}, "the ignition server is unknown"},
		{
			"no CA",
			Values{Endpoint: "a.example.com", Token: []byte(testUUID)},
			"the CA of the ignition server a.example.com is unknown",
		},
		{"bad endpoint", Values{Endpoint: "http://a.example.com", CA: ca}, "reading the endpoint"},
		{"bad token", Values{Endpoint: "a.example.com", CA: ca, Token: []byte("a b")}, "reading the ignition token"},
		{"bad CA", Values{Endpoint: "a.example.com", CA: []byte("-----BEGIN")}, "no PEM certificate"},
		{
			"bad certificate", Values{
				Endpoint: "a.example.com",
				CA:       []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
			}, "parsing the certificate",
		},
		{
			"key instead of CA", Values{
				Endpoint: "a.example.com",
				CA:       []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
			}, "no PEM certificate",
		},
		{
			"pool without namespace",
			Values{Endpoint: "a.example.com", CA: ca, NodePool: "demo"},
			"not in the format NAMESPACE/NAME",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := NewUserData(test.values)
			checkFailure(t, err, report.Usage, test.want)
		})
	}
}

func TestUserDataOverride(t *testing.T) {
	ca, other := certtest.NewCA(t, "ignition-root-ca").PEM, certtest.NewCA(t, "other").PEM
	userData, err := ParseUserData([]byte(hyperShiftUserData(ca)))
	if err != nil {
		t.Fatal(err)
	}
	won, err := userData.Override(Values{Endpoint: "b.example.com:31234", CA: other, NodePool: "clusters/b", Hash: "b"})
	if err != nil {
		t.Fatal(err)
	}
	checkDemoUserData(t, userData, ca) // unchanged
	if won.Source.String() != "https://b.example.com:31234/ignition" || string(won.CAs[0]) != string(other) ||
		len(won.CAs) != 1 ||
		won.NodePool() != "clusters/b" || won.ConfigHash() != "b" {
		t.Errorf("single values did not win: %v", won)
	}
	if won.Headers.Get("Authorization") != testBearer || won.Proxy.HTTP != userData.Proxy.HTTP {
		t.Error("what was not given was lost")
	}
}

func TestIsHosted(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca").PEM
	for _, test := range []struct {
		values Values
		want   bool
	}{
		{Values{Endpoint: "a.example.com"}, true},
		{Values{Endpoint: "https://api-int.example.com:22623/config/worker"}, false},
		{Values{Endpoint: "https://a.example.com/other", NodePool: "clusters/demo"}, true},
	} {
		test.values.CA = ca
		userData, err := NewUserData(test.values)
		if err != nil {
			t.Fatal(err)
		}
		if userData.IsHosted() != test.want {
			t.Errorf("%v: hosted is %t", userData, !test.want)
		}
	}
}

// Values of the user data become part of commands that administrators paste.
func TestRemedyCommandsContainOnlyValidNames(t *testing.T) {
	for given, want := range map[string]string{
		"clusters/demo-workers": "-n clusters get nodepool demo-workers ",
		"clusters/$(reboot)":    "-n NAMESPACE get nodepool NODEPOOL ",
		"-x/demo":               "-n NAMESPACE get nodepool NODEPOOL ",
		"":                      "-n NAMESPACE get nodepool NODEPOOL ",
	} {
		userData := &UserData{Headers: http.Header{}}
		userData.Headers.Set(headerNodePool, given)
		if got := nodePoolOf(userData).userDataCommands() + nodePoolOf(userData).conditionsCommand(); !strings.Contains(got,
			want) || strings.Contains(got, "reboot") {
			t.Errorf("for NodePool %q: %s", given, got)
		}
	}
}
