// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// firewallCmd keeps the ports in two files. Like the real one, it merges adjacent ranges: 9090 becomes
// part of 9000-9999.
const firewallCmd = `
dir=$(dirname $record) state=running
for word; do case $word in
  --permanent) state=permanent ;;
  --list-ports) cat $dir/$state; exit ;;
  --add-port=*) port=${word#--add-port=}
    [ $port = 9000-9999/tcp ] && sed -i 's,9090/tcp,,' $dir/$state
    echo "$(cat $dir/$state) $port" >$dir/$state ;;
  --remove-port=*) sed -i "s,${word#--remove-port=},," $dir/$state ;;
esac; done
echo "$@" >>$record`

func TestFirewallPorts(t *testing.T) {
	record := putCommand(t, "firewall-cmd", firewallCmd)
	for name, ports := range map[string]string{"running": "9090/tcp 10250/tcp", "permanent": "9090/tcp"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(record), name), []byte(ports), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, _, _ := newLedger(t)
	change := PortChange("payload", "public", "9000-9999/tcp", "10250/tcp")
	apply(t, l, change, true)
	apply(t, l, change, false)
	undo(t, l)
	const zone = "--zone=public "
	want := zone + "--add-port=9000-9999/tcp\n" +
		"--permanent " + zone + "--add-port=9000-9999/tcp --add-port=10250/tcp\n" +
		zone + "--remove-port=9000-9999/tcp\n" +
		"--permanent " + zone + "--remove-port=9000-9999/tcp --remove-port=10250/tcp\n" +
		zone + "--add-port=9090/tcp\n" +
		"--permanent " + zone + "--add-port=9090/tcp\n"
	if diff := cmp.Diff(want, recorded(t, record)); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

// If firewalld is not running, only its permanent configuration is changed.
func TestFirewallPortsOfAStoppedFirewall(t *testing.T) {
	putCommand(t, "firewall-cmd", "echo 'FirewallD is not running' >&2; exit 252")
	record := putCommand(t, "firewall-offline-cmd", firewallCmd)
	for _, name := range []string{"running", "permanent"} { // firewall-offline-cmd has no --permanent
		if err := os.WriteFile(filepath.Join(filepath.Dir(record), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if zone, err := DefaultZone(t.Context()); zone != "" || err != nil {
		t.Errorf("default zone %q, %v", zone, err)
	}
	l, _, _ := newLedger(t)
	apply(t, l, PortChange("payload", "public", "10250/tcp"), true)
	undo(t, l)
	if got, want := recorded(t, record),
		"--zone=public --add-port=10250/tcp\n--zone=public --remove-port=10250/tcp\n"; got != want {
		t.Errorf("commands %q, want %q", got, want)
	}
}

func TestCovers(t *testing.T) {
	open := []string{"9000-10000/tcp", "6081/udp"}
	for port, want := range map[string]bool{
		"9000-9999/tcp": true, "9000-10001/tcp": false, "9100/tcp": true, "9100/udp": false, "6081/udp": true,
	} {
		if covers(open, port) != want {
			t.Errorf("%q covers %s: %t", open, port, !want)
		}
	}
}
