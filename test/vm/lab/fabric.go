// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/internal/child"
)

// virtualSwitch is the switch: Open vSwitch with the userspace datapath, because the test host's kernel
// may support neither Open vSwitch nor VLANs nor bonds. It has its own database and sockets,
// separate from an Open vSwitch of the host. No interface in its namespace has an address,
// because the kernel also receives the frames and would respond to them.
type virtualSwitch struct {
	namespace
	dir              string
	database, daemon *child.Child
}

const bridge = "switch"

func (f *virtualSwitch) start(ctx context.Context, dir string) error {
	f.dir = dir
	if err := f.sysctl(ctx, "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1"); err != nil {
		return err
	}
	schema := "/usr/share/openvswitch/vswitch.ovsschema"
	if err := f.run(ctx, "ovsdb-tool", "create", f.file("conf.db"), schema); err != nil {
		return err
	}
	var err error
	f.database, err = f.startDaemon("ovsdb-server", f.file("conf.db"), "--remote=punix:"+f.file("db.sock"))
	if err != nil {
		return err
	}
	for err = f.vsctl(ctx, "--no-wait", "init"); err != nil; err = f.vsctl(ctx, "--no-wait", "init") {
		if f.database.Ended() || wait.Sleep(ctx, 20*time.Millisecond) != nil {
			return err // otherwise, the daemon does not listen yet
		}
	}
	f.daemon, err = f.startDaemon("ovs-vswitchd", "unix:"+f.file("db.sock"), "--disable-system")
	if err != nil {
		return err
	}
	return f.vsctl(ctx, "add-br", bridge, "--", "set", "Bridge", bridge, "datapath_type=netdev")
}

func (f *virtualSwitch) file(name string) string { return filepath.Join(f.dir, name) }

// startDaemon starts one of the daemons.
func (f *virtualSwitch) startDaemon(name string, args ...string) (*child.Child, error) {
	args = append(args, "--unixctl="+f.file(name+".ctl"), "--log-file="+f.file(name+".log"),
		"--verbose=console:off", "--verbose=syslog:off")
	return child.Start(f.setEnvironment(f.command(context.Background(), name, args...)))
}

// setEnvironment sets the environment that separates a command of Open vSwitch from the host's own
// instance.
func (f *virtualSwitch) setEnvironment(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env = append(cmd.Environ(), "OVS_RUNDIR="+f.dir, "OVS_DBDIR="+f.dir, "OVS_SYSCONFDIR="+f.dir, "OVS_LOGDIR="+f.dir)
	return cmd
}

func (f *virtualSwitch) vsctl(ctx context.Context, args ...string) error {
	_, err := f.tool(ctx, "ovs-vsctl", append([]string{"--timeout=20", "--db=unix:" + f.file("db.sock")}, args...)...)
	return err
}

func (f *virtualSwitch) tool(ctx context.Context, name string, args ...string) (string, error) {
	out, err := f.setEnvironment(f.command(ctx, name, args...)).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("running %s %v: %w: %s", name, args, err, out)
	}
	return string(out), nil
}

// appctl runs ovs-appctl on the switch daemon.
func (f *virtualSwitch) appctl(ctx context.Context, args ...string) (string, error) {
	return f.tool(ctx, "ovs-appctl", append([]string{"--target=" + f.file("ovs-vswitchd.ctl")}, args...)...)
}

func (f *virtualSwitch) stop() {
	for _, c := range []*child.Child{f.daemon, f.database} {
		if c != nil {
			c.Kill()
		}
	}
}
