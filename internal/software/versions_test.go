// SPDX-License-Identifier: Apache-2.0

package software

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func parse(t *testing.T, version string) kube.Version {
	t.Helper()
	if version == "" {
		return kube.Version{}
	}
	parsed, err := kube.ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// mismatch returns the message about a program of another release.
func mismatch(program, installed, release, required string) string {
	return fmt.Sprintf("%s %s is installed, but the payload is of OpenShift %s and requires %s %s",
		program, installed, release, program, required)
}

func TestVersionFindings(t *testing.T) {
	const newer = "kubelet 1.33.0 is newer than the API server 1.32.9, which Kubernetes does not support"
	release := func(minor int) *Contents {
		return &Contents{Release: Release{Major: 4, Minor: minor}}
	}
	unknownToTable := &Contents{
		Release:  Release{Major: 5, Minor: 9},
		Packages: map[string]string{"cri-o": "1.45.1-1.el10"},
	}
	for name, test := range map[string]struct {
		contents              *Contents
		kubelet, crio, server string
		want                  map[string]report.Remedy
	}{
		"nothing is known":      {},
		"all match":             {contents: release(19), kubelet: "v1.32.5", crio: "1.32.4", server: "v1.33.1"},
		"nothing is installed":  {contents: release(19), server: "v1.32.1"},
		"unknown release":       {contents: &Contents{Release: Release{Major: 5, Minor: 9}}, kubelet: "v1.32.5"},
		"release of the image":  {contents: unknownToTable, kubelet: "v1.45.0", crio: "1.45.1"},
		"image without release": {kubelet: "v1.32.5", crio: "1.31.4"},
		"older": {contents: release(19), kubelet: "v1.31.9", crio: "1.31.4", want: map[string]report.Remedy{
			mismatch("kubelet", "1.31.9", "4.19", "1.32"): "dnf install 'openshift-kubelet-4.19.*'",
			mismatch("CRI-O", "1.31.4", "4.19", "1.32"):   "dnf install 'cri-o-1.32.*'",
		}},
		"newer": {contents: release(18), kubelet: "v1.32.5", crio: "1.32.4", want: map[string]report.Remedy{
			mismatch("kubelet", "1.32.5", "4.18", "1.31"): "dnf downgrade 'openshift-kubelet-4.18.*'",
			mismatch("CRI-O", "1.32.4", "4.18", "1.31"):   "dnf downgrade 'cri-o-1.31.*'",
		}},
		"API server older than kubelet": {kubelet: "v1.33.0", server: "v1.32.9", want: map[string]report.Remedy{
			newer: "# install the kubelet of the NodePool's release",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			versions := Versions{
				Kubelet: parse(t, test.kubelet),
				CRIO:    parse(t, test.crio),
				Server:  parse(t, test.server),
			}
			findings, err := versions.Findings(test.contents)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]report.Remedy{}
			for _, finding := range findings {
				got[finding.Message] = finding.Remedy
				if !finding.RefusesJoin || finding.Code != report.Refused {
					t.Errorf("%q does not refuse a join", finding.Message)
				}
			}
			if test.want == nil {
				test.want = map[string]report.Remedy{}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A replaced package counts in its new version.
func TestReplacedSoftwareMatches(t *testing.T) {
	table, err := ReadTable()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		replaced []string
		server   string
		want     int // findings
	}{
		"both":                 {replaced: []string{"cri-o", "openshift-kubelet"}, server: "v1.32.1"},
		"only CRI-O":           {replaced: []string{"cri-o"}, want: 1},
		"none":                 {want: 2},
		"API server too old":   {replaced: []string{"cri-o", "openshift-kubelet"}, server: "v1.31.1", want: 1},
		"API server is newest": {replaced: []string{"cri-o", "openshift-kubelet"}, server: "v1.35.1"},
	} {
		facts := Facts{
			Table:   table,
			Replace: true,
			Contents: &Contents{
				Release:  Release{Major: 4, Minor: 19},
				Packages: map[string]string{"cri-o": "1.32.4-1.el9", "openshift-kubelet": "4.19.1-1.el9"},
			},
			Versions: Versions{
				Kubelet: parse(t, "v1.31.9"),
				CRIO:    parse(t, "1.31.4"),
				Server:  parse(t, test.server),
			},
		}
		for _, name := range test.replaced {
			facts.Unpacked = append(facts.Unpacked, Unpacked{Name: name, Version: "1-1.el9"})
		}
		decision := Decide(facts)
		if len(decision.Mismatches) != test.want {
			t.Errorf("%s: %v", name, decision.Mismatches)
		}
		wantMinor := 31 // the installed one
		if slices.Contains(test.replaced, "openshift-kubelet") {
			wantMinor = 32
		}
		if decision.KubeletMinor != wantMinor {
			t.Errorf("%s: kubelet 1.%d, want 1.%d", name, decision.KubeletMinor, wantMinor)
		}
	}
}

func TestPrintedVersionOfReplacedProgram(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	install := func(version string) {
		t.Helper()
		next := filepath.Join(dir, "next")
		script := "#!/bin/sh\necho x >>" + dir + "/runs\necho Kubernetes v" + version + "\n"
		write := os.WriteFile(next, []byte(script), 0o700) //nolint:gosec // it is run
		if err := errors.Join(write, os.Rename(next, filepath.Join(dir, "kubelet"))); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range []string{"1.31.4", "1.32.0"} {
		install(version)
		for range 2 {
			if got := printedVersion(t.Context(), "kubelet").String(); got != version {
				t.Errorf("printedVersion() = %s, want %s", got, version)
			}
		}
	}
	if runs, err := os.ReadFile(filepath.Join(dir, "runs")); err != nil || len(runs) != len("x\nx\n") {
		t.Errorf("the programs were run %d times (%v), want once each", len(runs)/2, err)
	}
}
