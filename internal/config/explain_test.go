package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func emptyEnvironment(string) (string, bool) { return "", false }

// All problems of a file are reported at once, each with its line.
func TestFileProblemsHaveLines(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		want    []string // without the prefix FILE
	}{
		"valid": {fileHeader + "userData: a\npayload:\n  drop: [a.service]\nconfigHash: 123\ntimeout: 90s\nkeepBootstrap: yes\nskip: []\njoinToken:\nuntil:\nnetworkTimeout:\n", nil},
		"unknown keys": {fileHeader + "endpiont: a\nuser-data: b\npayload:\n    dorp: [c]\nsecretToken: hunter2\n", []string{
			`:3: field endpiont not found in type config.Join`,
			`:4: field user-data not found in type config.Join`,
			`:6: field dorp not found in type config.Payload`,
			`:7: field secretToken not found in type config.Join`,
		}},
		"unknown key and invalid value": {fileHeader + "untyl: ready\nverifyReach: [bastion]\n", []string{
			`:3: field untyl not found in type config.Join`,
			`:4: verifyReach: "bastion" is not HOST:PORT (an IPv6 address requires brackets: [2001:db8::1]:443)`,
		}},
		"duplicate key": {fileHeader + "until: ready\nuntil: kubelet\n", []string{`:4: mapping key "until" already defined at line 3`}},
		"wrong types": {fileHeader + "timeout: soon\nskip: network\nkeepBootstrap: perhaps\nuntil: [ready]\npayload: all\nnetworkTimeout: 90\n", []string{
			`:3: "soon" is not a duration like 90s or 1h30m`,
			":4: cannot unmarshal !!str `network` into []string",
			":5: cannot unmarshal !!str `perhaps` into bool",
			":6: cannot unmarshal !!seq into string",
			":7: cannot unmarshal !!str `all` into config.Payload",
			`:8: "90" is not a duration like 90s or 1h30m`,
		}},
		"duration of a wrong kind": {fileHeader + "timeout: [5m]\n", []string{`:3: "" is not a duration like 90s or 1h30m`}},
		"values": {fileHeader + "until: monday\n\nverifyReach:\n- a:1\n- bastion\nnodeLabels: [x]\npayload: {drop: ['/etc/[']}\n", []string{
			`:3: until is "monday"; valid values: [client-certificate kubelet ready schedulable]`,
			`:5: verifyReach: "bastion" is not HOST:PORT (an IPv6 address requires brackets: [2001:db8::1]:443)`,
			`:8: nodeLabels: "x" is not KEY=VALUE`,
			`:9: payload.drop: pattern "/etc/[": a bracket or a backslash has no end`,
		}},
		"version": {"apiVersion: v2\nkind: JoinConfig\n", []string{`:1: apiVersion "v2" and kind "JoinConfig" are not supported; expected "node.hcp-agent.io/v1alpha1" and "JoinConfig"`}},
		"version and unknown key": {"endpiont: a\n", []string{
			`: apiVersion "" and kind "" are not supported; expected "node.hcp-agent.io/v1alpha1" and "JoinConfig"`,
			`:1: field endpiont not found in type config.Join`,
		}},
		"empty":         {"# nothing\n", []string{`: apiVersion "" and kind "" are not supported; expected "node.hcp-agent.io/v1alpha1" and "JoinConfig"`}},
		"not a mapping": {"- a\n", []string{":1: cannot unmarshal !!seq into config.Join"}},
		"two documents": {fileHeader + "---\n" + fileHeader, []string{": the file contains more than one YAML document"}},
		"tab":           {fileHeader + "payload:\n\tdrop: []\n", []string{":4: found character that cannot start any token"}},
		"open list":     {fileHeader + "skip: [a\nuntil: ready\n", []string{":2: did not find expected ',' or ']'"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			write(t, file, test.content)
			var got []string
			for _, p := range Explain(Source{File: file, Lookup: emptyEnvironment, Flags: parsedFlags(t)}).Problems {
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
	write(t, file, fileHeader+"endpoint: https://user:hunter2@example.com\nnodePool: a/b\nuntil: ready\n")
	write(t, dropin, fileHeader+"\nnodePool: c/d\npayload:\n  drop: [x.service]\n")
	environment := map[string]string{"HCP_NODE_AGENT_CA_FILE": "ca.pem", "HCP_NODE_AGENT_UNTIL": "kubelet"}
	lookup := func(name string) (string, bool) { v, ok := environment[name]; return v, ok }
	check := func(j Join) []Problem {
		return []Problem{{Key: "nodePool", Message: "nodePool is " + j.NodePool}, {Key: "until", Message: "no"}}
	}
	e := Explain(Source{File: file, Lookup: lookup, Flags: parsedFlags(t, "--skip", "network"), Check: check})
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
	// A value that a later source replaces is not a problem of the file.
	problems := []Problem{{Key: "nodePool", File: dropin, Line: 4, Message: "nodePool is c/d"}, {Key: "until", Message: "no"}}
	if diff := cmp.Diff(problems, e.Problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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
	for _, p := range Explain(Source{File: file, Required: true, Lookup: emptyEnvironment, Flags: parsedFlags(t)}).Problems {
		got = append(got, strings.ReplaceAll(p.String(), dir, ""))
	}
	want := []string{"/config.yaml: reading configuration: no such file or directory", "/config.d/a.yaml: reading configuration: is a directory"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
