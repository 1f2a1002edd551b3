// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// messages returns the problems without the name of the file.
func messages(file string, problems []Problem) []string {
	var texts []string
	for _, p := range problems {
		texts = append(texts, strings.TrimPrefix(p.String(), file))
	}
	return texts
}

// A file with one invalid value of each setting has one problem for each, in the order of the lines,
// at the position of the value or of the element of the list.
func TestProblemsOfEverySetting(t *testing.T) {
	content, want := fileHeader, []string(nil)
	tested := map[string]bool{}
	line := 2
	for _, bad := range []struct {
		key, yaml string // yaml may begin with lines that are valid
		column    int
		message   string
	}{
		{"userData", "userData: [a]", 11, "userData: must be a single value"},
		{
			"endpoint", "endpoint: http://ignition.example.com", 11,
			`endpoint: invalid value "http://ignition.example.com": http is not allowed, ` +
				`because the payload contains credentials; use https`,
		},
		{"tokenFile", "tokenFile: {a: b}", 12, "tokenFile: must be a single value"},
		{"caFile", "caFile: []", 9, "caFile: must be a single value"},
		{
			"nodePool", "nodePool: workers", 11,
			`nodePool: invalid value "workers": must be NAMESPACE/NAME, such as clusters/demo-workers`,
		},
		{"configHash", "configHash: [1]", 13, "configHash: must be a single value"},
		{
			"connectTo", "connectTo:    192.0.2.1", 15,
			`connectTo: invalid value "192.0.2.1": must be HOST:PORT (an IPv6 address requires brackets: [2001:db8::1]:443)`,
		},
		{"ignitionOverrides", "ignitionOverrides: site.ign", 20, "ignitionOverrides: must be a list"},
		{
			"payload.drop", "payload:\n  drop: [a.service, '/etc/[']", 21,
			`payload.drop: invalid value "/etc/[": a bracket or a backslash has no end`,
		},
		{
			"bridgeInterface", "bridgeInterface: ../eth0", 18,
			`bridgeInterface: invalid value "../eth0": must be the name of an interface: ` +
				`at most 15 characters, without / : and spaces`,
		},
		{
			"verifyReach", "verifyReach:\n- a:1\n- bastion:0", 3,
			`verifyReach: invalid value "bastion:0": the port must be a number from 1 to 65535`,
		},
		{"networkTimeout", "networkTimeout: 1h", 17, `networkTimeout: invalid value "1h": must be from 30s to 10m0s`},
		{"nodeLabels", "nodeLabels: [a=b, c]", 19, `nodeLabels: invalid value "c": must be KEY=VALUE`},
		{
			"nodeTaints", "nodeTaints: ['a:NoRun']", 14,
			`nodeTaints: invalid value "a:NoRun": the effect "NoRun" must be one of NoSchedule, PreferNoSchedule, NoExecute`,
		},
		{"pauseImage", "pauseImage: [a]", 13, "pauseImage: must be a single value"},
		{"approveWith", "approveWith: [a]", 14, "approveWith: must be a single value"},
		{"joinToken", "joinToken: [a]", 12, "joinToken: must be a single value"},
		{"switchImage", "switchImage: [a]", 14, "switchImage: must be a single value"},
		{"openshiftRelease", "openshiftRelease: 4", 19, `openshiftRelease: invalid value "4": must be a release such as 4.18`},
		{"software", "software: deb", 11, `software: invalid value "deb": must be one of auto, rpm, image`},
		{
			"installPackages", "installPackages: perhaps", 18, `installPackages: invalid value "perhaps": must be true or false`,
		},
		{
			"hostSettings", "hostSettings: true", 15, `hostSettings: invalid value "true": must be one of report, apply, reboot`,
		},
		{
			"until", "until: monday", 8,
			`until: invalid value "monday": must be one of client-certificate, kubelet, ready, schedulable`,
		},
		{"timeout", "timeout: 5", 10, `timeout: invalid value "5": must be a duration such as 90s or 1h30m`},
		{
			"skip", "skip: [network, fetch]", 17, `skip: invalid value "fetch": must be one of ` +
				strings.Join(steps.SkipValues(), ", "),
		},
		{"repair", "repair: always", 9, `repair: invalid value "always": must be true or false`},
		{"ignorePacketFilter", "ignorePacketFilter: x", 21, `ignorePacketFilter: invalid value "x": must be true or false`},
		{"ignoreLogins", "ignoreLogins: x", 15, `ignoreLogins: invalid value "x": must be true or false`},
		{"keepBootstrap", "keepBootstrap: 'x'", 16, `keepBootstrap: invalid value "x": must be true or false`},
	} {
		content += bad.yaml + "\n"
		line += strings.Count(bad.yaml, "\n") + 1
		want = append(want, fmt.Sprintf(":%d:%d: %s", line, bad.column, bad.message))
		tested[bad.key] = true
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	write(t, file, content)
	problems := Explain(Source{File: file}).Problems
	if diff := cmp.Diff(want, messages(file, problems)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	FlagSet(&Join{}).VisitAll(func(flag *pflag.Flag) {
		key := Key(flag.Name)
		if !tested[key] || !slices.ContainsFunc(problems, func(p Problem) bool { return p.Key == key }) {
			t.Errorf("no problem of %s", key)
		}
	})
}

// All problems of a file are reported at once, each with its position.
func TestFileProblemsHavePositions(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		want    []string // without the prefix FILE
	}{
		"valid": {
			fileHeader +
				"userData: a\npayload:\n  drop: [a.service]\nconfigHash: 123\ntimeout: 90s\nkeepBootstrap: true\nskip: []\n" +
				"joinToken:\nuntil:\nnetworkTimeout:\nendpoint: ''\nverifyReach: &peers [a:1]\n", nil,
		},
		"JSON": {
			`{"apiVersion": "hcp-node-agent.io/v1alpha1", "kind": "JoinConfig", "skip": ["network"], "keepBootstrap": false}`,
			nil,
		},
		"unknown keys": {fileHeader + "endpiont: a\nuser-data: b\npayload:\n    dorp: [c]\nsecretToken: hunter2\n", []string{
			`:3:1: endpiont: unknown setting; did you mean endpoint?`,
			`:4:1: user-data: unknown setting; did you mean userData?`,
			`:6:5: payload.dorp: unknown setting; did you mean payload.drop?`,
			`:7:1: secretToken: unknown setting`,
		}},
		"values and types": {fileHeader + "untyl: ready\nverifyReach: [1.2.3.4]\nskip: network\npayload: all\n" +
			"nodeLabels: [[a=b]]\n", []string{
			`:3:1: untyl: unknown setting; did you mean until?`,
			`:4:15: verifyReach: invalid value "1.2.3.4": must be HOST:PORT ` +
				`(an IPv6 address requires brackets: [2001:db8::1]:443)`,
			`:5:7: skip: must be a list`,
			`:6:10: payload: must be a mapping of settings to values`,
			`:7:14: nodeLabels: must be a single value`,
		}},
		"an alias": {
			fileHeader + "verifyReach: &x [bastion]\nskip: *x\n",
			[]string{
				`:3:18: verifyReach: invalid value "bastion": must be HOST:PORT ` +
					`(an IPv6 address requires brackets: [2001:db8::1]:443)`,
				`:3:18: skip: invalid value "bastion": must be one of ` + strings.Join(steps.SkipValues(), ", "),
			},
		},
		"duplicate key": {fileHeader + "until: ready\nuntil: kubelet\n", []string{`:4:1: until: already set in line 3`}},
		"secret in a URL": {fileHeader + "endpoint: https://me:hunter2@a.example.com\n", []string{
			`:3:11: endpoint: invalid value "https://***@a.example.com": user names are not allowed ` +
				`in the URL; the ignition server requires a token in a header`,
		}},
		"version": {
			"kind: JoinConfig\napiVersion: v2\n", []string{
				`:2:13: apiVersion: invalid value "v2": must be hcp-node-agent.io/v1alpha1`,
			},
		},
		"no version": {
			"endpiont: a\napiVersion:\n", []string{
				`: apiVersion is missing; it must be hcp-node-agent.io/v1alpha1`, `: kind is missing; it must be JoinConfig`,
				`:1:1: endpiont: unknown setting; did you mean endpoint?`,
			},
		},
		"empty": {
			"# nothing\n", []string{
				`: apiVersion is missing; it must be hcp-node-agent.io/v1alpha1`, `: kind is missing; it must be JoinConfig`,
			},
		},
		"not a mapping": {
			"- a\n", []string{
				`: apiVersion is missing; it must be hcp-node-agent.io/v1alpha1`, `: kind is missing; it must be JoinConfig`,
				":1:1: must be a mapping of settings to values",
			},
		},
		"two documents": {
			fileHeader + "---\n" + fileHeader, []string{":3:1: the file contains more than one YAML document"},
		},
		"a tab": {
			fileHeader + "payload:\n\tdrop: []\n", []string{":4: found character that cannot start any token"},
		},
		"an unclosed list": {fileHeader + "skip: [a\nuntil: ready\n", []string{":2: did not find expected ',' or ']'"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			write(t, file, test.content)
			if diff := cmp.Diff(test.want, messages(file, Explain(Source{File: file}).Problems)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnvironmentProblems(t *testing.T) {
	got := messages("", Explain(Source{File: "/nonexistent", Environment: []string{
		"HCP_NODE_AGENT_TIMEOT=5m", "HCP_NODE_AGENT_TIMEOUT=5", "HCP_NODE_AGENT_COLOR=1", "HCP_NODE_AGENTS=1", "TIMEOUT=1",
		"HCP_NODE_AGENT_SKIP=network,plan", "HCP_NODE_AGENT_KEEP_BOOTSTRAP=yes", "HCP_NODE_AGENT_NODEPOOL=",
	}}).Problems)
	want := []string{
		"HCP_NODE_AGENT_COLOR: no setting has this environment variable",
		`HCP_NODE_AGENT_KEEP_BOOTSTRAP: invalid value "yes": must be true or false`,
		`HCP_NODE_AGENT_SKIP: invalid value "network,plan": "plan": must be one of ` + strings.Join(steps.SkipValues(), ", "),
		"HCP_NODE_AGENT_TIMEOT: no setting has this environment variable; did you mean HCP_NODE_AGENT_TIMEOUT?",
		`HCP_NODE_AGENT_TIMEOUT: invalid value "5": must be a duration such as 90s or 1h30m`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEndpoints(t *testing.T) {
	for endpoint, want := range map[string]string{
		"ignition.example.com": "https://ignition.example.com", "192.0.2.1:8443": "https://192.0.2.1:8443",
		"2001:db8::1":                         "https://[2001:db8::1]",
		"[2001:db8::1]:443":                   "https://[2001:db8::1]:443",
		"https://a.example.com/config/worker": "https://a.example.com/config/worker",
		"http://a":                            "http is not allowed", "ftp://a": `unsupported scheme "ftp"`,
		"https://": "the host is missing", "https://u@a": "user names are not allowed",
		"a#b": "fragments", "a:0": "the port must be", "a:b": "must be HOST, HOST:PORT", "a b": "must be HOST, HOST:PORT",
		"-a": "neither an IP address nor",
	} {
		source, err := ParseEndpoint(endpoint)
		if (err == nil) != strings.HasPrefix(want, "https://") || (err == nil && source.String() != want) ||
			(err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %v, want %s", endpoint, source, err, want)
		}
	}
}

func TestInterfaceNames(t *testing.T) {
	for name, good := range map[string]bool{
		"eth0": true, "enp1s0f0np0": true, "bond0.100": true, "fifteen-letters": true,
		"sixteen--letters": false, ".": false, "..": false, "../eth0": false, "eth0:1": false, "eth 0": false,
	} {
		if err := checkInterface(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestOrigins(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	dropin := filepath.Join(filepath.Dir(file), "config.d/10-a.yaml")
	write(t, file, fileHeader+"endpoint: https://example.com\nnodePool: a/b\nuntil: ready\n"+
		"ignitionOverrides: ['https://me:hunter2@example.com']\n")
	write(t, dropin, fileHeader+"\nnodePool: c/d\npayload:\n  drop: [x.service]\n")
	environment := []string{"HCP_NODE_AGENT_CA_FILE=ca.pem", "HCP_NODE_AGENT_UNTIL=kubelet"}
	e := Explain(Source{File: file, Environment: environment, Flags: parsedFlags(t, "--skip", "network")})
	want := []Setting{
		{"endpoint", "https://example.com", Origin{FromFile, file + ":3"}},
		{"caFile", "ca.pem", Origin{FromEnvironment, "HCP_NODE_AGENT_CA_FILE"}},
		{"nodePool", "c/d", Origin{FromDropIn, dropin + ":4"}},
		{"ignitionOverrides", []string{"https://***@example.com"}, Origin{FromFile, file + ":6"}},
		{"payload.drop", []string{"x.service"}, Origin{FromDropIn, dropin + ":6"}},
		{"networkTimeout", "1m30s", Origin{From: FromDefault}},
		{"software", "auto", Origin{From: FromDefault}},
		{"hostSettings", "report", Origin{From: FromDefault}},
		{"until", "kubelet", Origin{FromEnvironment, "HCP_NODE_AGENT_UNTIL"}},
		{"timeout", "1h0m0s", Origin{From: FromDefault}},
		{"skip", []string{"network"}, Origin{FromFlag, "--skip"}},
	}
	if diff := cmp.Diff(want, e.Settings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(e.Problems) > 0 {
		t.Error(e.Problems)
	}
	if diff := cmp.Diff([]string{file, dropin}, e.Files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	if err := os.MkdirAll(filepath.Join(dir, "config.d/a.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range Explain(Source{File: file, Required: true}).Problems {
		got = append(got, strings.ReplaceAll(p.String(), dir, ""))
	}
	want := []string{
		"/config.yaml: reading configuration: no such file or directory",
		"/config.d/a.yaml: reading configuration: is a directory",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
