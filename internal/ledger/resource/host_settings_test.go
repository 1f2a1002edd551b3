// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/bootloader"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// putCommand puts a shell script into PATH. The script can append its arguments to the returned file,
// $record.
func putCommand(t *testing.T, name, script string) string {
	t.Helper()
	bin := t.TempDir()
	record := filepath.Join(bin, "record")
	script = "#!/bin/sh\nrecord=" + record + "\n" + script
	if err := os.WriteFile(filepath.Join(bin, name), []byte(script), //nolint:gosec // must be executable
		0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return record
}

// recorded returns and removes the record of a command.
func recorded(t *testing.T, record string) string {
	t.Helper()
	content, err := os.ReadFile(record)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	_ = os.Remove(record)
	return string(content)
}

// newLedger returns an empty ledger and the root of its tree.
func newLedger(t *testing.T) (*ledger.Ledger, *LoadedConfigs, string) {
	t.Helper()
	root := t.TempDir()
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	configs := &LoadedConfigs{Tree: tree}
	l, err := ledger.Open(t.TempDir(), ledger.Drivers{
		Paths: &ledger.Paths{Tree: tree},
		Resources: map[ledger.Kind]ledger.Driver{
			ledger.KernelArguments: KernelArguments{BootLoader: bootloader.Find(false)},
			BooleansKind:           Booleans{Dir: filepath.Join(root, "booleans")},
			FirewallPortsKind:      FirewallPorts{},
		},
		Snapshots: map[ledger.Kind]ledger.SnapshotDriver{ledger.LoadedConfig: configs},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, configs, root
}

// apply applies a change, checks whether it was pending, and that there is no drift afterwards.
func apply(t *testing.T, l *ledger.Ledger, change ledger.Change, pending bool) {
	t.Helper()
	made, err := l.Apply(t.Context(), "system", []ledger.Change{change})
	if err != nil || (len(made) > 0) != pending {
		t.Fatalf("%s %s: made %v, %v", change.Kind, change.Desired, made, err)
	}
	if drift, err := l.Drift(t.Context()); err != nil || len(drift) > 0 {
		t.Fatalf("drift %v, %v", drift, err)
	}
}

func undo(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	if outcome, err := l.Undo(t.Context()); err != nil || len(outcome.Kept) > 0 {
		t.Fatalf("undo: %+v, %v", outcome, err)
	}
}

// bootLoader is grubby with its effect on the arguments, which a file has, and without boot entries.
const bootLoader = `
args=$(dirname $record)/args
[ "$1" = --info=DEFAULT ] && { echo "args=\"$(cat $args)\""; exit; }
for word; do case $word in
  --args=*) for arg in ${word#--args=}; do
      sed -i "s/\(^\| \)${arg%%=*}\(=[^ ]*\)\?\( \|$\)/ /" $args; done
    echo "$(cat $args) ${word#--args=}" >$args ;;
  --remove-args=*) for arg in ${word#--remove-args=}; do sed -i "s/\(^\| \)$arg\( \|$\)/ /" $args; done ;;
esac; done
echo "$@" >>$record`

func TestKernelArguments(t *testing.T) {
	record := putCommand(t, "grubby", bootLoader)
	args := filepath.Join(filepath.Dir(record), "args")
	const original = "ro psi=1 mitigations=off"
	if err := os.WriteFile(args, []byte(original), 0o600); err != nil {
		t.Fatal(err)
	}
	l, _, _ := newLedger(t)
	change := func(a ArgumentChange) ledger.Change {
		t.Helper()
		c, err := KernelArguments{}.Change("payload", a)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := ArgumentChange{Add: []string{"psi=0", "nosmt", "a=1 b=2"}, Remove: []string{"mitigations=off", "absent"}}
	apply(t, l, change(first), true)
	apply(t, l, change(first), false)
	if got, want := recorded(t, record),
		"--update-kernel=ALL --args=psi=0 nosmt a=1 b=2 --remove-args=mitigations=off\n"; got != want {
		t.Errorf("commands %q, want %q", got, want)
	}
	if err := os.WriteFile(args, []byte("ro nosmt a=1 b=2"), 0o600); err != nil { // by an administrator
		t.Fatal(err)
	}
	undo(t, l)
	_ = recorded(t, record)
	// A later payload has other arguments.
	apply(t, l, change(ArgumentChange{Add: []string{"nosmt=force"}}), true)
	if got, want := recorded(t, record), "--update-kernel=ALL --args=nosmt=force\n"; got != want {
		t.Errorf("commands %q, want %q", got, want)
	}
	now, err := os.ReadFile(args)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(args, append(now, " site=1"...), 0o600); err != nil { // an administrator's
		t.Fatal(err)
	}
	undo(t, l)
	now, err = os.ReadFile(args)
	if err != nil {
		t.Fatal(err)
	}
	left := strings.Fields(string(now))
	slices.Sort(left)
	if diff := cmp.Diff([]string{"mitigations=off", "psi=1", "ro", "site=1"}, left); diff != "" {
		t.Errorf("after the undo (-want +got):\n%s", diff)
	}
}

// An undo restores repeated keys in their order, and keeps what an administrator has changed.
func TestFormerKernelArguments(t *testing.T) {
	for _, test := range []struct {
		before, now string
		change      ArgumentChange
		want        string
	}{
		{
			"ro console=ttyS0 console=tty0", "ro console=ttyS0 console=tty0 console=ttyS0 site=1",
			ArgumentChange{Add: []string{"console=ttyS0"}},
			"ro site=1 console=ttyS0 console=tty0",
		},
		{
			"ro hugepagesz=1G hugepages=4", "ro hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=4",
			ArgumentChange{Add: []string{"hugepagesz=2M hugepages=4"}},
			"ro hugepagesz=1G hugepages=4",
		},
		{
			"ro quiet psi=1", "ro psi=0 console=ttyS0", // the administrator has removed quiet
			ArgumentChange{Add: []string{"psi=0"}}, "ro console=ttyS0 psi=1",
		},
		{
			"ro rd.lvm.lv=a", "ro rd.lvm.lv=a rd.lvm.lv=b rd.lvm.lv=c",
			ArgumentChange{Add: []string{"rd.lvm.lv=b"}},
			"ro rd.lvm.lv=a rd.lvm.lv=c",
		},
		{ // the administrator has removed the logical volume of the swap space
			"ro rd.lvm.lv=rhel/root rd.lvm.lv=rhel/swap", "ro rd.lvm.lv=rhel/root rd.lvm.lv=data/x",
			ArgumentChange{Add: []string{"rd.lvm.lv=data/x"}},
			"ro rd.lvm.lv=rhel/root",
		},
		{ // and has renamed the volume group
			"ro rd.lvm.lv=rhel/root", "ro rd.lvm.lv=data/x rd.lvm.lv=vg/root",
			ArgumentChange{Add: []string{"rd.lvm.lv=data/x"}},
			"ro rd.lvm.lv=vg/root",
		},
		{
			"ro hugepagesz=2M hugepages=8", "ro hugepagesz=2M hugepages=16",
			ArgumentChange{Add: []string{"hugepagesz=2M", "hugepages=16"}},
			"ro hugepagesz=2M hugepages=8",
		},
		{ // by an earlier version, which replaced the values of the host
			"ro console=tty0 console=ttyS0", "ro console=ttyS1",
			ArgumentChange{Add: []string{"console=ttyS1"}},
			"ro console=tty0 console=ttyS0",
		},
		{
			"ro transparent-hugepage=always", "ro transparent_hugepage=never",
			ArgumentChange{Add: []string{"transparent_hugepage=never"}},
			"ro transparent-hugepage=always",
		},
		{"ro quiet", "ro", ArgumentChange{Remove: []string{"quiet"}}, "ro quiet"},
	} {
		got := strings.Join(test.change.Former(strings.Fields(test.now), strings.Fields(test.before)), " ")
		if got != test.want {
			t.Errorf("%q from %q: %q, want %q", test.before, test.now, got, test.want)
		}
	}
}

func TestKernelArgumentsWithoutBootLoader(t *testing.T) {
	change, err := KernelArguments{}.Change("payload", ArgumentChange{Add: []string{"psi=0"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (KernelArguments{}).Get(t.Context(), change); err == nil {
		t.Error("the arguments were read without a boot loader")
	}
}

func TestBooleans(t *testing.T) {
	l, _, root := newLedger(t)
	record := putCommand(t, "setsebool", `echo "$@" >>$record
shift
for setting; do case $setting in *=on) value=1 ;; *) value=0 ;; esac
	echo "$value $value" >`+root+`/booleans/${setting%=*}; done`)
	if err := os.Mkdir(filepath.Join(root, "booleans"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"a": "0 0", "b": "1 1", "c": "0 0"} {
		if err := os.WriteFile(filepath.Join(root, "booleans", name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change := BooleanChange("payload", "a=on", "b=on", "c=on")
	apply(t, l, change, true)
	apply(t, l, change, false)
	undo(t, l)
	if got, want := recorded(t, record), "-P a=on c=on\n-P a=off c=off\n"; got != want {
		t.Errorf("commands %q, want %q", got, want)
	}
}

// The services load the files of a join after it has written them, and the original files after an
// undo has restored them.
func TestLoadedConfigsFollowTheFiles(t *testing.T) {
	l, configs, root := newLedger(t)
	record := putCommand(t, "systemctl", `echo "$@: $(cat `+root+`/etc/chrony.conf)" >>$record`)
	if err := os.MkdirAll(filepath.Join(root, "etc"), 0o700); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(root, "etc/chrony.conf")
	if err := os.WriteFile(conf, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	isLoaded := func() bool {
		t.Helper()
		loaded, err := configs.IsLoaded(t.Context(), "chronyd", l.Items())
		if err != nil {
			t.Fatal(err)
		}
		return loaded
	}
	load := func(ctx context.Context) {
		t.Helper()
		done, err := l.TrackExternal(ctx, "system", LoadedChange("chronyd"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := LoadConfig(ctx, "chronyd"); err != nil {
			t.Fatal(err)
		}
		if err := done(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.TrackExternal(t.Context(), "files", LoadedChange("chronyd")); err != nil {
		t.Fatal(err)
	}
	file := ledger.Change{Kind: ledger.File, Target: "/etc/chrony.conf", Desired: ledger.State{Present: true}}
	file.Desired = ledger.FileState([]byte("new"), 0o600)
	file.Desired.UID, file.Desired.GID = nil, nil
	apply(t, l, file, true)
	if isLoaded() {
		t.Error("the new configuration counts as loaded before the service was restarted")
	}
	load(t.Context())
	if !isLoaded() {
		t.Error("the loaded configuration does not count as loaded")
	}
	undo(t, l)
	const restart = "try-restart chronyd.service: "
	if got, want := recorded(t, record), restart+"new\n"+restart+"old\n"; got != want {
		t.Errorf("commands %q, want %q", got, want)
	}
}
