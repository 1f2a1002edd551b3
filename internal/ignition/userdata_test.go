// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

const (
	testUUID   = "5f0c7c1e-7d06-4418-b6cb-9f552727ae15"
	testBearer = "Bearer NWYwYzdjMWUtN2QwNi00NDE4LWI2Y2ItOWY1NTI3MjdhZTE1" //nolint:gosec // not a real token
)

// hyperShiftUserData returns user data in HyperShift's format.
func hyperShiftUserData(ca []byte) string {
	return fmt.Sprintf(`{"ignition":{"config":{"merge":[{"httpHeaders":[{"name":"Authorization","value":%q},{"name":"NodePool","value":"clusters/demo-workers"},{"name":"TargetConfigVersionHash","value":"844282c1"}],"source":"https://ignition.demo.example.com/ignition"}]},"proxy":{"httpProxy":"http://proxy.example.com:3128","httpsProxy":"http://user:hunter2@proxy.example.com:3128","noProxy":[".cluster.local","10.0.0.0/8"]},"security":{"tls":{"certificateAuthorities":[{"source":"data:text/plain;base64,%s"}]}},"version":"3.2.0"}}`,
		testBearer, base64.StdEncoding.EncodeToString(ca))
}

func TestParseUserData(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca").PEM
	userData, err := ParseUserData([]byte(hyperShiftUserData(ca)))
	if err != nil {
		t.Fatal(err)
	}
	checkDemoUserData(t, userData, ca)
	if err := userData.Validate(); err != nil {
		t.Error(err)
	}
}

func checkDemoUserData(t *testing.T, userData *UserData, ca []byte) {
	t.Helper()
	got := map[string]any{
		"source": userData.Source.String(), "pool": userData.NodePool(), "hash": userData.ConfigHash(),
		"token":         userData.HasToken(),
		"authorization": userData.Headers.Get("Authorization"), "ca": string(userData.CAs[0]), "proxy": userData.Proxy,
	}
	want := map[string]any{
		"source": "https://ignition.demo.example.com/ignition", "pool": "clusters/demo-workers", "hash": "844282c1",
		"token":         true,
		"authorization": testBearer, "ca": string(ca),
		"proxy": Proxy{
			HTTP:  "http://proxy.example.com:3128",
			HTTPS: "http://user:hunter2@proxy.example.com:3128",
			No:    []string{".cluster.local", "10.0.0.0/8"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("user data differs (-want +got):\n%s", diff)
	}
}

func TestEncodedUserDataCanBeParsed(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca").PEM
	userData, err := ParseUserData([]byte(hyperShiftUserData(ca)))
	if err != nil {
		t.Fatal(err)
	}
	content, err := userData.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseUserData(content)
	if err != nil {
		t.Fatal(err)
	}
	checkDemoUserData(t, again, ca)
	if !strings.Contains(string(content), `"TargetConfigVersionHash"`) {
		t.Error("the headers have lost HyperShift's spelling")
	}
}

func TestParseUserDataRejectsOtherConfigs(t *testing.T) {
	whole := hyperShiftUserData(certtest.NewCA(t, "ignition-root-ca").PEM)
	merge := `{"source":"https://ignition.demo.example.com/ignition"}`
	userData := func(section string) string {
		return `{"ignition":{"version":"3.2.0","config":{"merge":[` + merge + `]}},` + section + `}`
	}
	tests := []struct{ name, content, want string }{
		{"empty", "", "the config is empty"},
		{"white space", " \n", "the config is empty"},
		{"no JSON", "hello", "the input is not JSON"},
		{"still base64", base64.StdEncoding.EncodeToString([]byte(whole)), "the input is base64"},
		{"the Secret in YAML", "apiVersion: v1\nkind: Secret\ndata: {}\n", "the input is the Secret itself"},
		{"the Secret in JSON", `{"apiVersion":"v1","kind":"Secret"}`, "the input is the Secret itself"},
		{"cut short", whole[:len(whole)/2], "the config is truncated"},
		{"no version", `{}`, "ignition.version is missing"},
		{
			"spec 2.2", `{"ignition":{"version":"2.2.0","config":{"append":[` + merge + `]}}}`,
			"Ignition spec 2.2.0, which is not supported",
		},
		{"spec 3.9", `{"ignition":{"version":"3.9.0"}}`, "Ignition spec 3.9.0, which is not supported"},
		{"nothing to merge", `{"ignition":{"version":"3.2.0"}}`, "names no ignition server"},
		{
			"two to merge", `{"ignition":{"version":"3.2.0","config":{"merge":[` + merge +
				`,{"source":"https://b.example.com/"}]}}}`, "merges 2 configs",
		},
		{
			"http", `{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"http://a.example.com/ignition"}]}}}`,
			"http is not allowed",
		},
		{
			"data source", `{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"data:,%7B%7D"}]}}}`,
			`unsupported scheme "data"`,
		},
		{
			"user name", `{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"https://me:secret@a.example.com/"}]}}}`,
			"user name",
		},
		{"replace", `{"ignition":{"version":"3.2.0","config":{"replace":` + merge + `}}}`, "ignition.config.replace"},
		{"files", userData(`"storage":{"files":[{"path":"/etc/a"}]}`), "it also contains storage"},
		{"units", userData(`"systemd":{"units":[{"name":"a.service"}]}`), "it also contains systemd units"},
		{"users", userData(`"passwd":{"users":[{"name":"core"}]}`), "it also contains users"},
		{
			"verification",
			`{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"https://a.example.com/","verification":{"hash":"sha256-` + strings.Repeat("0", 64) + `"}}]}}}`, "a verification",
		},
		{
			"CA elsewhere", `{"ignition":{"version":"3.2.0","config":{"merge":[` + merge +
				`]},"security":{"tls":{"certificateAuthorities":[{"source":"https://a.example.com/ca"}]}}}}`,
			"not included in the config but at https://a.example.com/ca",
		},
		{
			"no certificate", `{"ignition":{"version":"3.2.0","config":{"merge":[` + merge +
				`]},"security":{"tls":{"certificateAuthorities":[{"source":"data:,hello"}]}}}}`, "no PEM certificate",
		},
		{
			"invalid", `{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"ftp://a.example.com/"}]}}}`,
			"$.ignition.config.merge.0.source, line 1",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := ParseUserData([]byte(test.content))
			checkFailure(t, err, report.Usage, test.want)
		})
	}
}

// checkFailure fails the test unless err has the code, contains the text, has a remedy, and does
// not contain the token.
func checkFailure(t *testing.T, err error, code report.Code, want string) {
	t.Helper()
	reporttest.CheckFailure(t, err, code, want)
	if strings.Contains(fmt.Sprintf("%+v %s", err, report.RemedyOf(err)), strings.TrimPrefix(testBearer, "Bearer ")) {
		t.Errorf("the error shows the token: %v", err)
	}
}

// The token is neither printed, nor logged, nor encoded.
func TestSecretsAreNotPrinted(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca").PEM
	userData, err := ParseUserData([]byte(hyperShiftUserData(ca)))
	if err != nil {
		t.Fatal(err)
	}
	payload, err := LoadPayload([]byte(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/a","contents":{"source":"data:,hunter2"}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	holder := struct {
		UserData *UserData
		Values   Values
		Payload  *Payload
	}{userData, Values{Endpoint: "https://me:hunter2@a/", Token: []byte(testUUID)}, payload}
	var text strings.Builder
	for _, value := range []any{
		holder.UserData, *holder.UserData, holder.Values, &holder.Values, holder.Payload, *holder.Payload,
	} {
		fmt.Fprintf(&text, "%v %+v %#v %s %q %d %x\n", value, value, value, value, value, value, value)
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Error(err)
		}
		text.Write(encoded)
		slog.New(slog.NewTextHandler(&text, nil)).Info("", "value", value)
		slog.New(slog.NewJSONHandler(&text, nil)).Info("", "value", value)
	}
	for _, secret := range []string{
		testUUID, strings.TrimPrefix(testBearer, "Bearer "), "hunter2", base64.StdEncoding.EncodeToString([]byte("hunter2")),
	} {
		if strings.Contains(text.String(), secret) {
			t.Errorf("%s is shown", secret)
		}
	}
	if !strings.Contains(text.String(), "clusters/demo-workers") {
		t.Error("the summary does not name the NodePool")
	}
}
