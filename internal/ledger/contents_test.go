package ledger

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

const inNamespace = "HCP_TEST_IN_MOUNT_NAMESPACE"

// An undo removes nothing below a directory while a volume is mounted in it. The test runs
// in a separate mount namespace, which ends with it.
func TestUndoStopsAtMountPoint(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		command.Env = append(os.Environ(), inNamespace+"=1")
		command.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		out, err := command.CombinedOutput()
		if errors.Is(err, unix.EPERM) {
			t.Skip("mounting needs root")
		}
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	root, precious := t.TempDir(), t.TempDir()
	before := listTree(t, root)
	if err := os.WriteFile(filepath.Join(precious, "data"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, t.TempDir(), root)
	if _, err := l.TrackExternal(t.Context(), "kubelet", Change{Kind: Contents, Target: "/lib", Desired: State{Present: true}}); err != nil {
		t.Fatal(err)
	}
	volume := filepath.Join(root, "lib/pods/volume")
	if err := os.MkdirAll(volume, 0o750); err != nil {
		t.Fatal(err)
	}
	// A bind mount of the same file system, as a local volume is: the device number is the
	// same.
	if err := unix.Mount(precious, volume, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	mounted := listTree(t, root)
	_, err := l.Undo(t.Context())
	if err == nil || !strings.Contains(err.Error(), "umount "+volume) {
		t.Errorf("undo with a mount: %v", err)
	}
	if diff := cmp.Diff(mounted, listTree(t, root)); diff != "" {
		t.Errorf("an undo that failed removed something:\n%s", diff)
	}
	if err := hostfs.Unmount(volume); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Undo(t.Context()); err != nil {
		t.Errorf("undo after the mount is gone: %v", err)
	}
	if diff := cmp.Diff(before, listTree(t, root)); diff != "" {
		t.Errorf("after undo (-want +got):\n%s", diff)
	}
	if content, err := os.ReadFile(filepath.Join(precious, "data")); err != nil || string(content) != "theirs" {
		t.Errorf("what was mounted: %q, %v", content, err)
	}
}

// An undo restores the extended attributes of a file.
func TestUndoRestoresExtendedAttributes(t *testing.T) {
	root := populate(t)
	file := filepath.Join(root, "etc/replaced")
	if err := unix.Lsetxattr(file, "user.theirs", []byte("kept"), 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.Chmod(file, 0o4711); err != nil {
		t.Fatal(err)
	}
	l := open(t, t.TempDir(), root)
	if _, err := l.Apply(t.Context(), "files", testChanges()); err != nil {
		t.Fatal(err)
	}
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if info, err := tree.Lstat("/etc/replaced"); err != nil || len(info.Xattrs["user.theirs"]) != 0 {
		t.Errorf("a new file has an old attribute: %q, %v", info.Xattrs, err)
	}
	if _, err := l.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := tree.Lstat("/etc/replaced")
	if err != nil || string(info.Xattrs["user.theirs"]) != "kept" || info.Mode != 0o4711 {
		t.Errorf("given back with %q, mode %04o, %v", info.Xattrs, info.Mode, err)
	}
}
