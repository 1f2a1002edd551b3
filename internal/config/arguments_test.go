// SPDX-License-Identifier: Apache-2.0

package config

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every setting of a join has an argument, except those of one run and of the service.
func TestArgumentsRepeatEverySetting(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	want := Defaults()
	want.UserData, want.TokenFile, want.CAFile, want.ApproveWith, want.JoinToken = "/u", "/t", "/c", "/k", "/j"
	want.Endpoint, want.NodePool, want.ConfigHash, want.ConnectTo = "a.example.com", "clusters/one", "1a2b3c4d",
		"192.0.2.1:443"
	want.IgnitionOverrides, want.Payload.Exclude = []string{"/a,b.ign", "/c.ign"}, []string{"/etc/a*"}
	want.BridgeInterface, want.RequiredEndpoints, want.NetworkTimeout = "eth1", []string{"a:1", "[2001:db8::1]:2"},
		2*Defaults().NetworkTimeout
	want.Labels, want.Taints = []string{"a=b", "c="}, []string{"a:NoSchedule"}
	want.PauseImage = "quay.io/a/b@sha256:" + strings.Repeat("1a", 32)
	want.OpenShiftRelease, want.Software, want.InstallPackages, want.HostSettings = "4.18", SoftwareImage, true,
		HostSettingsReboot
	want.IgnorePacketFilter, want.IgnoreLogins = true, true
	want.SwitchImage = true
	want.Until, want.Skip, want.KeepBootstrap = "ready", []string{"packages", "validate"}, true
	for field := range reflect.TypeFor[Join]().NumField() {
		name := reflect.TypeFor[Join]().Field(field).Name
		isSet := !reflect.DeepEqual(reflect.ValueOf(want).Field(field).Interface(),
			reflect.ValueOf(Defaults()).Field(field).Interface())
		if hasNone := name == "APIVersion" || name == "Kind" || name == "Timeout" || name == "Repair"; isSet == hasNone {
			t.Errorf("the test sets %s: %t", name, isSet)
		}
	}
	var line []string
	for _, argument := range Arguments(want) {
		flag, value, _ := strings.Cut(argument.Text, " ")
		line = append(line, flag)
		if value != "" {
			line = append(line, strings.Trim(value, "'"))
		}
	}
	got := Defaults()
	if err := FlagSet(&got).Parse(line); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	relative := Defaults()
	relative.UserData, relative.ApproveWith = "user data.ign", "-"
	if got := Arguments(relative); got[0].Text != "--user-data '"+filepath.Join(dir, "user data.ign")+"'" ||
		got[1].Text != "--approve-with APPROVE_WITH" {
		t.Errorf("arguments %v", got)
	}
	if got := Arguments(Defaults()); len(got) > 0 {
		t.Errorf("arguments of the defaults: %v", got)
	}
}
