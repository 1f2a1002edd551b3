// SPDX-License-Identifier: Apache-2.0

//go:build faults

package ledger

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// faultErrors returns the system calls that fail in a run, with the injected error of each: all
// calls that write, change or sync, and the calls that prepare them.
func faultErrors() map[string]string {
	return map[string]string{
		"write": "ENOSPC", "openat": "EDQUOT", "mkdirat": "ENOSPC", "symlinkat": "ENOSPC", "linkat": "EMLINK",
		"renameat": "EPERM",
		"unlinkat": "EPERM", "fchown": "EDQUOT", "fchownat": "EDQUOT", "fchmod": "EIO", "fsetxattr": "ENOSPC",
		"lsetxattr": "EOPNOTSUPP",
		"fsync":     "EIO", "syncfs": "EIO", "ftruncate": "EIO",
	}
}

// A fault at any call of an apply or an undo damages no file, and the next run completes or
// restores everything. Each call fails once; ENOSPC also persists.
func TestFaultAtEveryCallIsRecoverable(t *testing.T) {
	if os.Getenv(victimRoot) != "" {
		victim(t)
		return
	}
	requireRoot(t)
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace, which makes system calls fail, is not installed (Debian: apt-get install strace)")
	}
	useTmpfs(t)
	for _, verb := range []string{"apply", "undo"} {
		k, start := newExpectedStates(t, verb)
		for call, fault := range faultErrors() {
			for _, lasting := range []string{"", "+"} {
				if lasting != "" && call != "write" {
					continue
				}
				t.Run(fmt.Sprintf("%s at %s%s", verb, call, lasting), func(t *testing.T) {
					t.Parallel() // strace takes most of the time
					failed := 0
					for n := 1; ; n++ {
						inject := fmt.Sprintf("inject=%s:error=%s:when=%d%s", call, fault, n, lasting)
						g := start.clone(t)
						out, met := runWithFault(t, g, verb, call, inject)
						if !met {
							break
						}
						when := verb + " with " + inject
						k.checkUndamaged(t, g, when+"\n"+out)
						k.checkRecovery(t, g, verb, when)
						failed++
					}
					t.Logf("failed at each of %d calls", failed)
				})
			}
		}
	}
}

// runWithFault runs a victim with an injected fault. It returns the victim's output and whether
// the fault occurred.
func runWithFault(t *testing.T, g workDir, verb, call, inject string) (string, bool) {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	// --seccomp-bpf, with which the other calls do not stop, works for errors and not for signals.
	command := g.command(t, verb, "strace", "-f", "--seccomp-bpf", "-qq", "-o", trace, "-e", "trace="+call, "-e", inject)
	command.Env = append(command.Env, victimMayFail+"=1")
	out, err := command.CombinedOutput()
	if strings.Contains(string(out), "strace:") {
		t.Fatalf("%s: %v\n%s", inject, err, out)
	}
	calls, err := os.ReadFile(trace)
	must(t, err)
	return string(out), bytes.Contains(calls, []byte("(INJECTED)"))
}

// checkUndamaged checks that each file has its original or desired state, including owner and
// mode. If only attributes change, it compares only the content.
func (k expectedStates) checkUndamaged(t *testing.T, g workDir, when string) {
	t.Helper()
	known := map[string]bool{}
	for _, line := range append(k.before, k.after...) {
		known[comparablePart(line)] = true
	}
	for _, line := range snapshot(t, g.root) {
		p, rest, _ := strings.Cut(line, " ")
		temporary := strings.HasPrefix(filepath.Base(p), ".hcp-node-agent.")
		if strings.HasPrefix(rest, "file ") && !temporary && !known[comparablePart(line)] {
			t.Errorf("%s: damaged: %s", when, line)
		}
	}
}

// comparablePart returns the part of a snapshot line that a fault must not mix.
func comparablePart(line string) string {
	line, _, _ = strings.Cut(line, " is ")
	if fields := strings.Fields(line); fields[0] == "/etc/attributes" {
		return strings.Join([]string{fields[0], fields[1], fields[5]}, " ")
	}
	return line
}

// mountVolume mounts a small file system of the given type for a test.
func mountVolume(t *testing.T, options ...string) string {
	t.Helper()
	requireRoot(t)
	point := t.TempDir()
	argv := slices.Concat(options, []string{point})
	if out, err := exec.CommandContext(t.Context(), "mount", argv...).CombinedOutput(); err != nil {
		t.Skipf("nothing can be mounted here: mount %v: %s", argv, out)
	}
	t.Cleanup(func() { must(t, unix.Unmount(point, unix.MNT_DETACH)) })
	return point
}

// fillDisk uses up the space of a file system except for a number of bytes.
func fillDisk(t *testing.T, point string, left int64) {
	t.Helper()
	file, err := os.Create(filepath.Join(point, "fill"))
	must(t, err)
	defer file.Close()
	for _, size := range []int{64 << 10, 512} {
		for err = nil; err == nil; {
			_, err = file.Write(make([]byte, size))
		}
	}
	info, err := file.Stat()
	must(t, err)
	must(t, file.Truncate(info.Size()-left))
}

// makeReplacements creates files and returns changes that replace them with smaller files.
func makeReplacements(t *testing.T, root string, n int) []Change {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(root, "etc"), 0o755)) //nolint:gosec // as on a host
	var changes []Change
	for i := range n {
		p := fmt.Sprintf("/etc/f%02d", i)
		must(t, os.WriteFile(root+p, bytes.Repeat(fmt.Appendf(nil, "user:hash:%d\n", i), 1000), //nolint:gosec // as on a host
			0o640))
		must(t, os.Chown(root+p, 0, 42))
		changes = append(changes, Change{Kind: File, Target: p, Desired: FileState([]byte("new\n"), 0o644)})
	}
	return changes
}

func TestUndoOnFullDiskDamagesNoFile(t *testing.T) {
	for _, left := range []int64{0, 4 << 10, 20 << 10} {
		t.Run(fmt.Sprintf("%d bytes left", left), func(t *testing.T) {
			root, dir := mountVolume(t, "-t", "tmpfs", "-o", "size=512k", "tmpfs"), t.TempDir()
			changes := makeReplacements(t, root, 5)
			k := expectedStates{before: snapshot(t, root)}
			l := open(t, dir, root)
			_, err := l.Apply(t.Context(), "files", changes)
			must(t, err)
			k.after = snapshot(t, root)
			fillDisk(t, root, left)
			outcome, err := l.Undo(t.Context())
			if err == nil {
				t.Fatalf("an undo on a full disk has restored %v", outcome.Restored)
			}
			must(t, os.Remove(filepath.Join(root, "fill")))
			k.checkUndamaged(t, workDir{root: root}, "undo on a full disk")
			k.checkUndo(t, l, workDir{root: root, dir: dir}, "with room again")
		})
	}
}

// A disk that accepts data and loses it later, such as a thinly provisioned disk: the error
// occurs at the sync.
func TestUndoOnFailingDiskDamagesNoFile(t *testing.T) {
	thin, dir := mountVolume(t, "-t", "tmpfs", "-o", "size=2M", "tmpfs"), t.TempDir()
	image := filepath.Join(thin, "image")
	run(t, "truncate", "--size=16M", image)
	run(t, "mkfs.ext4", "-q", "-O", "^has_journal", "-E", "lazy_itable_init=1,nodiscard", image)
	root := mountVolume(t, "-o", "loop,errors=continue", image)
	must(t, os.Remove(filepath.Join(root, "lost+found")))
	changes := makeReplacements(t, root, 20)
	k := expectedStates{before: snapshot(t, root)}
	l := open(t, dir, root)
	_, err := l.Apply(t.Context(), "files", changes)
	must(t, err)
	k.after = snapshot(t, root)
	run(t, "fstrim", root) // returns the blocks of the old files to the thin pool
	fillDisk(t, thin, 0)
	outcome, err := l.Undo(t.Context())
	if err == nil {
		t.Fatalf("an undo on a failing disk has restored %v", outcome.Restored)
	}
	if len(outcome.Restored) > 0 {
		t.Errorf("restored: %v", outcome.Restored)
	}
	must(t, os.Remove(filepath.Join(thin, "fill")))
	k.checkUndamaged(t, workDir{root: root}, "undo on a failing disk")
	k.checkUndo(t, l, workDir{root: root, dir: dir}, "with room again")
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

// makeImmutable creates a file that cannot be changed, replaced or removed.
func makeImmutable(t *testing.T, name string) func() {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "chattr", "+i", name).CombinedOutput(); err != nil {
		t.Skipf("this file system has no immutable files: %s", out)
	}
	// If this fails, the next statements fail.
	free := func() { _ = exec.Command("chattr", "-i", name).Run() }
	t.Cleanup(free)
	return free
}

func TestImmutableFilesDoNotStopUndo(t *testing.T) {
	requireRoot(t)
	root, dir := t.TempDir(), t.TempDir()
	changes := append(makeReplacements(t, root, 5),
		Change{Kind: File, Target: "/opt/made/file", Desired: FileState([]byte("ours\n"), 0o644)})
	k := expectedStates{before: snapshot(t, root)}
	l := open(t, dir, root)
	_, err := l.Apply(t.Context(), "files", changes)
	must(t, err)
	k.after = snapshot(t, root)
	var release []func()
	stuck := []string{"/etc/f01", "/etc/f03", "/opt/made/file"}
	for _, p := range stuck {
		release = append(release, makeImmutable(t, root+p))
	}
	outcome, err := l.Undo(t.Context())
	for _, p := range stuck {
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("the error does not name %s: %v", p, err)
		}
	}
	if remedy := report.RemedyOf(err); !strings.Contains(string(remedy),
		fmt.Sprintf("lsattr -d %[1]s/opt/made %[1]s/opt/made/file", root)) {
		t.Errorf("remedy %q", remedy)
	}
	var restored []string
	for _, item := range outcome.Restored {
		restored = append(restored, item.Target)
	}
	if diff := cmp.Diff([]string{"/etc/f04", "/etc/f02", "/etc/f00"}, restored); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	k.checkUndamaged(t, workDir{root: root}, "undo with immutable files")
	for _, free := range release {
		free()
	}
	k.checkUndo(t, l, workDir{root: root, dir: dir}, "with files that can be changed again")
}
