// SPDX-License-Identifier: Apache-2.0

package networkplugin

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// namespaced reports whether the test runs in a network namespace of its own;
// where it does not, it runs the test once more in one, in another process.
func namespaced(t *testing.T) bool {
	t.Helper()
	const inside = "OVS_TEST_NAMESPACE"
	if os.Getenv(inside) == t.Name() {
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("a network namespace needs root")
	}
	for _, program := range []string{"iptables", "ip6tables", "nft", "ip", "ovs-vsctl", "ovs-vswitchd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%v (Debian: apt-get install iptables nftables iproute2 openvswitch-switch)", err)
		}
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), inside+"="+t.Name())
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return false
}

// lines runs commands, one a line. A backslash at the end continues a command on the next line.
func lines(t *testing.T, commands string) {
	t.Helper()
	for line := range strings.Lines(strings.ReplaceAll(commands, "\\\n", "")) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if output, err := exec.CommandContext(t.Context(), "sh", "-c", line).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, output)
		}
	}
}

// vswitch is an Open vSwitch with the userspace datapath, in a directory.
type vswitch struct{ dir string }

func newSwitch(t *testing.T) vswitch {
	t.Helper()
	s := vswitch{dir: t.TempDir()}
	t.Setenv("OVS_RUNDIR", s.dir) // where ovs-vsctl and the others look
	t.Setenv("OVS_LOGDIR", s.dir)
	t.Setenv("OVS_DBDIR", s.dir)
	lines(t, "ovsdb-tool create "+s.dir+"/conf.db /usr/share/openvswitch/vswitch.ovsschema")
	s.start(t)
	lines(t, "ovs-vsctl --no-wait init")
	return s
}

func (s vswitch) start(t *testing.T) {
	t.Helper()
	lines(t, `
		ovsdb-server `+s.dir+`/conf.db --remote=punix:`+s.dir+`/db.sock --pidfile --detach --log-file -vconsole:off
		ovs-vswitchd unix:`+s.dir+`/db.sock --pidfile --detach --log-file -vconsole:off`)
	t.Cleanup(func() { s.stop(t) })
}

// stop ends both daemons as a crash does: their interfaces stay with the kernel
// datapath, and go with the userspace one.
func (s vswitch) stop(t *testing.T, daemons ...string) {
	t.Helper()
	if len(daemons) == 0 {
		daemons = []string{"ovs-vswitchd", "ovsdb-server"}
	}
	for _, daemon := range daemons {
		pid, err := os.ReadFile(filepath.Join(s.dir, daemon+".pid"))
		if err != nil {
			continue // stopped already
		}
		command := exec.CommandContext(context.WithoutCancel(t.Context()), "ovs-appctl", "--target="+daemon, "exit")
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("stopping %s: %v\n%s", daemon, err, output)
		}
		process := filepath.Join("/proc", strings.TrimSpace(string(pid)))
		waittest.Until(t, "waiting for the end of "+daemon, func() (any, bool) {
			_, err := os.Stat(process)
			return process, err != nil
		})
	}
}
