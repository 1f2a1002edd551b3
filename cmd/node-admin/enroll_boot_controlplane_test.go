// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The input of the first boot contains the join token.
func (e *enrollTest) checkFirstBoot(t *testing.T) {
	e.unpublish(t)
	e.enroll(t, "workers", "boot-2") // without user data
	e.publish(t)
	got := e.enroll(t, "workers", "boot-1", "boot-6", "--format", "cloud-init")
	if got.Code != report.Refused || !strings.Contains(got.Err, "\nhcp-node-admin site apply ") ||
		exists(filepath.Join(e.dir, "tokens/boot-1.token")) {
		t.Errorf("without the settings of the site: %+v", got)
	}
	e.applySite(t)
	got = e.enroll(t, "workers", "boot-1", "boot-6", "--format", "cloud-init")
	content := string(mustReadFile(t, filepath.Join(e.dir, "tokens/boot-1.cloud-init.yaml")))
	if got.Code != report.Success || !strings.Contains(content, "secret: user-data-workers") ||
		!strings.Contains(got.Out, "boot-6: created, ") ||
		!strings.Contains(content, "baseurl=https://packages.example.com\n") ||
		!strings.Contains(unwrap(got.Out), "each host must already have kubelet, CRI-O and Open vSwitch: ") {
		t.Errorf("%+v", got)
	}
	e.unpublish(t)
	got = e.enroll(t, "workers", "boot-7", "--format", "kickstart")
	if got.Code != report.CredentialRefused ||
		!strings.Contains(got.Err, "getting Secret clusters-hosted-a/user-data-workers-844282c1 on the management cluster ") {
		t.Errorf("embedding without the permission: %+v", got)
	}
	if exists(filepath.Join(e.dir, "tokens/boot-7.token")) {
		t.Error("a join token was written")
	}
	got = e.enroll(t, "workers", "boot-7", "--format", "kickstart", "--kubeconfig", e.kubeconfig(t, "", nil))
	if got.Code != report.Success ||
		!strings.Contains(unwrap(got.Out), "current user data of the NodePool, which is valid until") {
		t.Errorf("embedding: %+v", got)
	}
	if token, id := e.token(t, "boot-7"); token.ID != id || string(token.UserData) != string(e.userData) {
		t.Errorf("join token %v", token)
	}
	got = e.enroll(t, "workers", "boot-2", "--format", "kickstart", "--kubeconfig", e.kubeconfig(t, "", nil))
	if got.Code != report.Refused || !strings.Contains(got.Err, "the join token of boot-2 contains no user data") {
		t.Errorf("a join token without user data: %+v", got)
	}
	e.publish(t)
	got = e.enroll(t, "workers", "boot-8", "boot-1", "--format", "ignition")
	for _, node := range []string{"boot-8", "boot-1"} {
		ignition := string(mustReadFile(t, filepath.Join(e.dir, "tokens", node+".ign")))
		if token, _ := e.token(t, node); got.Code != report.Success || token.UserData != nil || token.Cluster == nil ||
			!strings.Contains(ignition, "/etc/hcp-node-agent/node.token") || strings.Contains(ignition, "Bearer") {
			t.Errorf("%s: %+v", node, got)
		}
	}
}

// applySite stores the settings of the site. Settings that are not valid replace none.
func (e *enrollTest) applySite(t *testing.T) {
	t.Helper()
	kubeconfig := e.hosted.kubeconfig(t, "", nil)
	for _, test := range []struct {
		content, want string
		code          report.Code
	}{
		{siteContent, ": stored; enroll writes", report.Success},
		{siteContent, ": unchanged\n", report.Success},
		{siteContent + "settings: {a: b}\n", "settings: a: unknown setting", report.Usage},
	} {
		file := writeTestFile(t, t.TempDir(), "site.yaml", test.content)
		got := runCommandLine(t, "site", "apply", "-f", file, "--kubeconfig", kubeconfig)
		if got.Code != test.code || !strings.Contains(unwrap(got.Out+got.Err), test.want) {
			t.Errorf("%q: %+v", test.want, got)
		}
	}
	stored := e.hosted.run(t, "", "-n", "hcp-node-admin", "get", "secret", "site", "-o", "jsonpath={.data.site\\.yaml}")
	if content, err := base64.StdEncoding.DecodeString(stored); err != nil || string(content) != siteContent {
		t.Errorf("stored are %q, %v", content, err)
	}
}
