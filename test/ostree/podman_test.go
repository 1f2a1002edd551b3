// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParseContainer(t *testing.T) {
	for command, want := range map[string]container{
		"--rm --privileged --pid=host --net=host -v /:/rootfs --entrypoint machine-config-daemon quay.io/a@sha256:1 " +
			"firstboot-complete-machineconfig --persist-nics": {
			entrypoint: "machine-config-daemon", args: []string{"firstboot-complete-machineconfig", "--persist-nics"},
		},
		"--rm --authfile /a --env A=b --net=host --security-opt label=disable --volume /b:/b quay.io/a node-ip set -r": {
			authfile: "/a", args: []string{"node-ip", "set", "-r"},
		},
	} {
		got, err := parseContainer(strings.Fields(command))
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(container{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
}

func TestPodmanRefusesOtherCommands(t *testing.T) {
	for _, command := range []string{
		"", "ps", "pull", "pull --authfile=/does/not/exist quay.io/a", "pull --tls-verify=false quay.io/a", "run --rm",
		"run --publish 80:80 quay.io/a node-ip set", "run quay.io/a sh",
		"run --entrypoint machine-config-daemon quay.io/a start", "run quay.io/a node-ip show",
		"run quay.io/a node-ip set 192.0.2.1",
	} {
		if code := RunPodman(t.Context(), strings.Fields(command)); code != podmanErrorCode {
			t.Errorf("podman %s: exit code %d", command, code)
		}
	}
}

func TestRunningKargs(t *testing.T) {
	got := runningKargs([]string{"root=/dev/vda2", "psi=0", "a=1", "psi=1"}, []string{"a=1", "psi=0", "b"})
	if diff := cmp.Diff([]string{"psi=0", "a=1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestChooseAddress(t *testing.T) {
	const links = `[
		{"ifindex":1,"ifname":"lo","addr_info":[{"local":"127.0.0.1","prefixlen":8,"scope":"host"}]},
		{"ifindex":2,"ifname":"eth0","addr_info":[
			{"local":"192.0.2.7","prefixlen":24,"scope":"global"},
			{"local":"198.51.100.7","prefixlen":24,"scope":"global"},
			{"local":"fe80::7","prefixlen":64,"scope":"link"},
			{"local":"2001:db8:1::7","prefixlen":64,"scope":"global","deprecated":true},
			{"local":"2001:db8:2::7","prefixlen":64,"scope":"global"}]},
		{"ifindex":3,"ifname":"eth1","addr_info":[{"local":"10.0.0.7","prefixlen":8,"scope":"global"}]}]`
	for routes, want := range map[string]string{
		`[{"dev":"eth0","gateway":"198.51.100.1","metric":100}]`:               "198.51.100.7",
		`[{"dev":"eth0","metric":100},{"dev":"eth1","metric":48}]`:             "10.0.0.7",
		`[{"dev":"eth1","gateway":"10.0.0.1"},{"dev":"eth0","gateway":"::1"}]`: "192.0.2.7",
		`[]`: "",
	} {
		got := choose(t, links, routes, true)
		if want == "" && got.IsValid() || want != "" && got.String() != want {
			t.Errorf("with routes %s: %s, want %q", routes, got, want)
		}
	}
	got := choose(t, links, `[{"dev":"eth0","gateway":"fe80::1","metric":100}]`, false)
	if diff := cmp.Diff(netip.MustParseAddr("2001:db8:2::7"), got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("IPv6 (-want +got):\n%s", diff)
	}
}

func choose(t *testing.T, links, routes string, isIPv4 bool) netip.Addr {
	t.Helper()
	var decodedLinks []ipLink
	var decodedRoutes []ipRoute
	if err := json.Unmarshal([]byte(links), &decodedLinks); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(routes), &decodedRoutes); err != nil {
		t.Fatal(err)
	}
	return chooseAddress(decodedLinks, decodedRoutes, isIPv4)
}
