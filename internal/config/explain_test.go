package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func nobody(string) (string, bool) { return "", false }

// Each thing that can be wrong with a file is told with its line and column, all
// of them at once, and no value of what is not known.
func TestProblemsOfAFile(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		want    []string // FILE is cut off
	}{
		"all is well": {head + "userData: a\npayload:\n  drop: [a.service]\nconfigHash: 123\ntimeout: 90s\nkeepBootstrap: yes\nskip: []\nticket:\n", nil},
		"unknown": {head + "endpiont: a\nuser-data: b\npayload:\n    dorp: [c]\nsecretToken: hunter2\n", []string{
			`:3:1: there is no setting "endpiont"; did you mean endpoint?`,
			`:4:1: there is no setting "user-data"; did you mean userData?`,
			`:6:5: there is no setting "payload.dorp"; did you mean payload.drop?`,
			`:7:1: there is no setting "secretToken"`,
		}},
		"two kinds": {head + "untyl: ready\nverifyReach: [bastion]\n", []string{
			`:3:1: there is no setting "untyl"; did you mean until?`,
			`:4:1: verifyReach: "bastion" is not HOST:PORT (an IPv6 address has brackets: [2001:db8::1]:443)`,
		}},
		"twice": {head + "until: ready\nuntil: kubelet\n", []string{":4:1: until is here a second time; the first is in line 3"}},
		"types": {head + "timeout: soon\nskip: network\nkeepBootstrap: perhaps\nuntil: [ready]\npayload: all\nnetworkTimeout: 90\n", []string{
			":3:10: timeout has to be a duration like 90s or 1h30m", ":4:7: skip has to be a list of texts",
			":5:16: keepBootstrap has to be true or false", ":6:8: until has to be a text", ":7:10: payload has to be a mapping",
			":8:17: networkTimeout has to be a duration like 90s or 1h30m",
		}},
		"values": {head + "until: monday\n\nverifyReach:\n- a:1\n- bastion\nnodeLabels: [x]\npayload: {drop: ['/etc/[']}\n", []string{
			`:3:1: until is "monday"; it can be one of [identity kubelet ready schedulable]`,
			`:5:1: verifyReach: "bastion" is not HOST:PORT (an IPv6 address has brackets: [2001:db8::1]:443)`,
			`:8:1: nodeLabels: "x" is not KEY=VALUE`,
			`:9:11: payload.drop: pattern "/etc/[": a bracket or a backslash has no end`,
		}},
		"version":    {"apiVersion: v2\nkind: JoinConfig\n", []string{`:1:1: it begins with apiVersion "v2" and kind "JoinConfig", this program reads "node.hcp-agent.io/v1alpha1" and "JoinConfig"`}},
		"empty":      {"# nothing\n", []string{`: it begins with apiVersion "" and kind "", this program reads "node.hcp-agent.io/v1alpha1" and "JoinConfig"`}},
		"no mapping": {"- a\n", []string{":1:1: it is not a mapping, SETTING: VALUE"}},
		"two":        {head + "---\n" + head, []string{":3:1: a second document begins here; a file has one"}},
		"a tab":      {head + "payload:\n\tdrop: []\n", []string{":4:1: it is not YAML: found character that cannot start any token"}},
		"open":       {head + "skip: [a\nuntil: ready\n", []string{":3:1: it is not YAML: did not find expected ',' or ']'"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			write(t, file, test.content)
			var got []string
			for _, p := range Explain(Source{File: file, Lookup: nobody, Given: given(t)}).Problems {
				got = append(got, strings.TrimPrefix(p.String(), file))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOrigins(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	dropin := filepath.Join(filepath.Dir(file), "config.d/10-a.yaml")
	write(t, file, head+"endpoint: https://user:hunter2@example.com\nnodePool: a/b\nuntil: ready\n")
	write(t, dropin, head+"\nnodePool: c/d\npayload:\n  drop: [x.service]\n")
	environment := map[string]string{"HCP_NODE_AGENT_CA_FILE": "ca.pem", "HCP_NODE_AGENT_UNTIL": "kubelet"}
	lookup := func(name string) (string, bool) { v, ok := environment[name]; return v, ok }
	check := func(j Join) []Problem {
		return []Problem{{Key: "nodePool", Message: "nodePool is " + j.NodePool}, {Key: "until", Message: "no"}}
	}
	e := Explain(Source{File: file, Lookup: lookup, Given: given(t, "--skip", "network"), Check: check})
	want := []Setting{
		{"endpoint", "https://***@example.com", Origin{FromFile, file + ":3"}},
		{"caFile", "ca.pem", Origin{FromEnvironment, "HCP_NODE_AGENT_CA_FILE"}},
		{"nodePool", "c/d", Origin{FromDropIn, dropin + ":4"}},
		{"payload.drop", []any{"x.service"}, Origin{FromDropIn, dropin + ":6"}},
		{"networkTimeout", "1m30s", Origin{From: FromDefault}},
		{"until", "kubelet", Origin{FromEnvironment, "HCP_NODE_AGENT_UNTIL"}},
		{"timeout", "1h0m0s", Origin{From: FromDefault}},
		{"skip", []any{"network"}, Origin{FromFlag, "--skip"}},
	}
	if diff := cmp.Diff(want, e.Settings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// What a later source has replaced is not wrong in the file.
	problems := []Problem{{Key: "nodePool", File: dropin, Line: 4, Column: 1, Message: "nodePool is c/d"}, {Key: "until", Message: "no"}}
	if diff := cmp.Diff(problems, e.Problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{file, dropin}, e.Files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	if err := os.MkdirAll(filepath.Join(dir, "config.d/a.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range Explain(Source{File: file, Required: true, Lookup: nobody, Given: given(t)}).Problems {
		got = append(got, strings.ReplaceAll(p.String(), dir, ""))
	}
	want := []string{"/config.yaml: reading configuration: no such file or directory", "/config.d/a.yaml: reading configuration: is a directory"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"userData", "until", "timeout", "networkTimeout", "payload", "payload.drop", "nodePool"}
	for name, want := range map[string]string{
		"user-data": "userData", "user_data": "userData", "USERDATA": "userData", "utnil": "until", "time-out": "timeout", "nodepool": "nodePool",
		"networkTimout": "networkTimeout", "payload-drop": "payload.drop", "kubeconfig": "", "x": "",
	} {
		if got := nearest(name, names); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
