// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// readMigration returns the planned migration of a host with DHCP.
func readMigration(t *testing.T) ovs.Migration {
	t.Helper()
	content, err := os.ReadFile("../ovs/testdata/dhcp.migration.json")
	if err != nil {
		t.Fatal(err)
	}
	var migration ovs.Migration
	if err := json.Unmarshal(content, &migration); err != nil {
		t.Fatal(err)
	}
	return migration
}

func TestNetworkListsProfilesInOrder(t *testing.T) {
	migration := readMigration(t)
	network := newNetwork(migration)
	var got []string
	for _, profile := range network.Profiles {
		got = append(got, profile.Name+" "+profile.Type+" "+profile.Interface)
	}
	want := []string{
		"br-ex ovs-bridge br-ex", "ovs-port-phys0 ovs-port eth0", "ovs-port-br-ex ovs-port br-ex",
		"ovs-if-phys0 802-3-ethernet eth0", "ovs-if-br-ex ovs-interface br-ex",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if network.Attached || network.Uplink != "eth0" || len(network.Addresses) == 0 ||
		!slices.Equal(network.Description, migration.Describe()) {
		t.Errorf("%+v", network)
	}
	attached := newNetwork(ovs.Migration{AlreadyAttached: true, Uplink: "eth0"})
	if !attached.Attached || len(attached.Profiles) > 0 || len(attached.Description) != 1 {
		t.Errorf("%+v", attached)
	}
}

// No section that can contain secrets occurs in a document.
func TestNetworkHasNoSecrets(t *testing.T) {
	const canary = "hunter2"
	migration := readMigration(t)
	poisoned := 0
	var poison func(v reflect.Value)
	poison = func(v reflect.Value) {
		if s, ok := v.Interface().(networkmanager.Settings); ok {
			s = s.Clone()
			for _, section := range []string{"802-1x", "user", "proxy", "vpn", "wireguard", "something-new"} {
				s.Set(section, "password", canary)
			}
			v.Set(reflect.ValueOf(s))
			poisoned++
			return
		}
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					poison(v.Field(i))
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				poison(v.Index(i))
			}
		}
	}
	poison(reflect.ValueOf(&migration).Elem())
	if poisoned < 8 {
		t.Fatalf("only %d profiles were found", poisoned)
	}
	encoded, err := json.Marshal(newNetwork(migration))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(encoded), canary) {
		t.Error("a secret is shown")
	}
	if whole, err := json.Marshal(migration); err != nil || !strings.Contains(string(whole), canary) {
		t.Errorf("the migration itself has lost the secret: %v", err)
	}
	for _, kept := range []string{`"assigned-mac-address"`, `"route-metric":"x 48"`, `"method":"s \"auto\""`} {
		if !strings.Contains(string(encoded), kept) {
			t.Errorf("%s is not shown", kept)
		}
	}
}
