// SPDX-License-Identifier: Apache-2.0

package bootunits

import (
	"slices"
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/unit"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
)

func TestChanges(t *testing.T) {
	const node, name, remote = "hcp-node-agent-node-ip.service", "hcp-node-agent-uplink-name.service",
		"hcp-node-agent-ovn-remote.service"
	for payloadClears, want := range map[bool][]string{true: {node, name}, false: {node, name, remote}} {
		files, enable := Changes(payloadClears)
		var written, enabled []string
		for _, change := range files {
			if change.Kind != ledger.File || *change.Desired.Mode != 0o644 {
				t.Errorf("%s: kind %s, mode %o", change.Target, change.Kind, *change.Desired.Mode)
			}
			written = append(written, strings.TrimPrefix(change.Target, "/etc/systemd/system/"))
		}
		for _, change := range enable {
			if change.Kind == ledger.Unit && change.Desired.Enabled == "enabled" && change.Desired.Active == "" {
				enabled = append(enabled, change.Target)
			}
		}
		if !slices.Equal(written, want) || !slices.Equal(enabled, want) {
			t.Errorf("where the payload clears (%t): files %v, enabled and not started %v, want %v", payloadClears, written,
				enabled, want)
		}
	}
}

// The requirements for units that work and cannot block the boot.
func TestBootUnitFiles(t *testing.T) {
	files, _ := Changes(false)
	for i, want := range []map[string]string{{
		"Unit.After": "NetworkManager-wait-online.service", "Unit.ConditionPathExists": nodeip.KubeletDropIn,
		"Service.ExecStart": "/usr/bin/hcp-node-agent node-ip",
	}, {
		"Unit.Before": "NetworkManager.service shutdown.target", "Unit.DefaultDependencies": "no",
		"Service.ExecStart": "/usr/bin/hcp-node-agent uplink-name",
	}, {
		"Unit.After":        "ovsdb-server.service openvswitch.service",
		"Service.ExecStart": `-/usr/bin/ovs-vsctl --no-wait --timeout=10 set Open_vSwitch . "external_ids:ovn-remote= "`,
	}} {
		options, err := unit.DeserializeOptions(strings.NewReader(string(files[i].Desired.Content)))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, option := range options {
			got[option.Section+"."+option.Name] = option.Value
		}
		want["Service.Type"], want["Service.RemainAfterExit"], want["Install.WantedBy"] = "oneshot", "yes",
			"multi-user.target"
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: %s is %q, want %q", files[i].Target, name, got[name], value)
			}
		}
		for _, later := range []string{"crio.service", "kubelet.service"} {
			if _, checked := want["Unit.Before"]; !checked && !slices.Contains(strings.Fields(got["Unit.Before"]), later) {
				t.Errorf("%s is not before %s", files[i].Target, later)
			}
		}
		for _, name := range []string{"Install.RequiredBy", "Unit.Requires", "Unit.OnFailure"} {
			if got[name] != "" {
				t.Errorf("%s: %s would carry its failure on", files[i].Target, name)
			}
		}
	}
}
