// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/autojoin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/leave"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// cutRoot and cutVerb turn the test binary into the process that loses its power.
const (
	cutRoot = "HCP_TEST_CUT_ROOT"
	cutVerb = "HCP_TEST_CUT_VERB"
)

// cutHost is a host with /etc and /var on separate file systems. Their disks
// contain only what was synced.
type cutHost struct {
	root            string
	images          map[string]string
	withoutAutoJoin bool // no file in /etc/hcp-node-agent belongs to the join
}

func (h cutHost) stateDir() string { return filepath.Join(h.root, "var/agent") }

func (h cutHost) firstBoot() autojoin.Files {
	if h.withoutAutoJoin {
		return autojoin.Files{}
	}
	return autojoin.Files{Dir: filepath.Join(h.root, "etc/agent")}
}

func runOrFail(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

// newCutHost returns a host whose disks are copies of the images, or new disks if
// there are no images.
func newCutHost(t *testing.T, images map[string]string) cutHost {
	t.Helper()
	h := cutHost{root: t.TempDir(), images: map[string]string{}}
	store := t.TempDir()
	for _, name := range []string{"etc", "var"} {
		image, point := filepath.Join(store, name), filepath.Join(h.root, name)
		if images == nil {
			runOrFail(t, "truncate", "--size=8M", image)
			runOrFail(t, "mkfs.ext4", "-q", image)
		} else {
			runOrFail(t, "cp", "--sparse=always", images[name], image)
		}
		flowtest.NoError(t, os.Mkdir(point, 0o700))
		if out, err := exec.CommandContext(t.Context(), "mount", "-o", "loop,commit=3600", image,
			point).CombinedOutput(); err != nil {
			t.Skipf("no loop device can be mounted here: %s", out)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(point, 0); err != nil {
				t.Error(err)
			}
		})
		h.images[name] = image
	}
	return h
}

// open opens the host as a run of a join does.
func (h cutHost) open(t *testing.T) *leave.Flow {
	t.Helper()
	tree, err := hostfs.OpenTree(h.root)
	flowtest.NoError(t, err)
	t.Cleanup(func() { tree.Close() })
	m := &machine.Machine{Tree: tree}
	m.Ledger, err = ledger.Open(h.stateDir(), m.Drivers())
	flowtest.NoError(t, err)
	t.Cleanup(func() { m.Ledger.Close() })
	state, err := joinstate.Read(h.stateDir())
	flowtest.NoError(t, err)
	state.Config.UserData = filepath.Join(h.firstBoot().Dir, "user-data.ign") // mount points differ each time
	return &leave.Flow{Machine: m, State: state, Dir: h.stateDir()}
}

// prepare brings the host into the state before the last write of a join.
func (h cutHost) prepare(t *testing.T) {
	t.Helper()
	if dir := h.firstBoot().Dir; dir != "" {
		flowtest.NoError(t, os.Mkdir(dir, 0o700))
		flowtest.NoError(t, os.WriteFile(filepath.Join(dir, "user-data.ign"), []byte("secret"), 0o600))
	}
	flowtest.NoError(t, os.Mkdir(filepath.Join(h.root, "etc/kubernetes"), 0o700))
	state := joinstate.State{
		Config: config.Join{Until: "schedulable"}, NodeName: "worker-7", Hosted: true,
		PayloadDigest: "ff", LastStep: "schedulable", Started: time.Now(),
	}
	flowtest.NoError(t, joinstate.Write(h.stateDir(), state))
	flowtest.NoError(t, joinstate.SaveFile(h.stateDir(), joinstate.UserDataFile,
		flowtest.EncodeUserData(t, "a.example.com", "clusters/one", "11")))
	flowtest.NoError(t, joinstate.SaveFile(h.stateDir(), joinstate.PayloadFile, []byte("secret")))
	flowtest.NoError(t, joinstate.SaveFile(h.stateDir(), joinstate.JoinTokenFile,
		flowtest.EncodeJoinToken(t, certtest.NewCA(t, "ca").PEM, nil, 0)))
	j := h.open(t)
	_, err := j.Machine.Ledger.TrackExternal(t.Context(), "files", ledger.Change{
		Kind: ledger.Contents, Target: "/etc/kubernetes/cni", Reason: "plugins write there",
		Desired: ledger.State{Present: true},
	})
	flowtest.NoError(t, err)
	_, err = j.Machine.Ledger.Apply(t.Context(), "files", []ledger.Change{{
		Kind: ledger.File, Target: "/etc/kubernetes/kubelet.conf", Desired: ledger.FileState([]byte("secret"), 0o600),
	}})
	flowtest.NoError(t, err)
	flowtest.NoError(t, os.MkdirAll(filepath.Join(h.root, "etc/kubernetes/cni/net.d"), 0o700))
	flowtest.NoError(t, os.WriteFile(filepath.Join(h.root, "etc/kubernetes/cni/net.d/whereabouts.kubeconfig"),
		[]byte("secret"), 0o600))
	flowtest.NoError(t, j.Machine.Ledger.Close())
	unix.Sync()
}

// cutVictim runs as the process that loses its power, on one OS thread, so that its
// system calls can be counted.
func cutVictim(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	verb := os.Getenv(cutVerb)
	h := cutHost{root: os.Getenv(cutRoot), withoutAutoJoin: verb == "leave by hand"}
	j := h.open(t)
	if verb == "join" {
		joined := newJoinRecord(
			&plan.Run{Request: request.Request{Config: j.State.Config}, Dir: j.Dir, State: j.State}, j.Machine)
		flowtest.NoError(t, joined.finish(true, time.Second))
	} else {
		flowtest.NoError(t, j.Run(t.Context(), cutLeave(), h.firstBoot()))
	}
	fmt.Println("complete")
}

// cutLeave returns the steps of a leave on a host without kubelet.
func cutLeave() []steps.Step[*leave.Flow] {
	return []steps.Step[*leave.Flow]{
		{Name: "stop", Run: func(context.Context, *leave.Flow, report.Log) (steps.Outcome, error) {
			fmt.Println("begun")
			return steps.Unchanged("no kubelet runs here")
		}},
		{Name: "undo", Run: func(ctx context.Context, j *leave.Flow, _ report.Log) (steps.Outcome, error) {
			_, err := j.Machine.Ledger.Undo(ctx)
			return steps.Outcome{}, err
		}},
	}
}

// boot returns the action of the service at boot.
func (h cutHost) boot(t *testing.T) string {
	t.Helper()
	state, err := joinstate.Read(h.stateDir())
	flowtest.NoError(t, err)
	if state.Exists() {
		return string(state.Phase())
	}
	_, found, err := h.firstBoot().Configure(config.Defaults())
	flowtest.NoError(t, err)
	if found {
		return "joining"
	}
	return "none"
}

// secrets returns the files on the disks of the host.
func (h cutHost) secrets(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, disk := range []string{"etc", "var"} {
		flowtest.NoError(t, filepath.WalkDir(filepath.Join(h.root, disk), func(p string, entry os.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				name, _ := filepath.Rel(h.root, p)
				names = append(names, name)
			}
			return err
		}))
	}
	return names
}

func (h cutHost) check(t *testing.T, verb, output string) {
	t.Helper()
	decision, left := h.boot(t), h.secrets(t)
	has := func(name string) bool { return slices.Contains(left, filepath.Join("var/agent", name)) }
	switch complete, begun := strings.Contains(output, "complete"), strings.Contains(output, "begun"); {
	case verb == "join" && decision == "joined":
		if has(joinstate.UserDataFile) || has(joinstate.JoinTokenFile) {
			t.Errorf("the host boots as a node and keeps its token and join token: %q", left)
		}
	case verb == "join" && decision == "joining" && !complete:
		run, err := prepareJoin(t.Context(), request.Options{StateDir: h.stateDir(), Resume: true, Config: config.Defaults()})
		if err != nil || !has(joinstate.PayloadFile) || run.State.LastStep != "schedulable" {
			t.Errorf("the join cannot be resumed: %v", err)
		}
	case verb == "leave" && decision == "leaving" && begun && !complete:
		if err := h.open(t).Run(t.Context(), cutLeave(), h.firstBoot()); err != nil || h.boot(t) != "none" ||
			len(h.secrets(t)) > 0 {
			t.Errorf("the second leave: %v; the host keeps %q", err, h.secrets(t))
		}
	case verb == "leave" && decision == "none" && begun:
		if len(left) > 0 {
			t.Errorf("the host has left and keeps %q", left)
		}
	case verb == "leave" && !begun && (decision == "joining" || decision == "leaving"):
	default:
		t.Errorf("the next boot decides %q after %q", decision, output)
	}
}

// A power failure during the end of a join or leave loses everything that was not
// synced. The action at the next boot must be correct nevertheless. The disks do
// not change between two syncs, so one power failure at each sync is sufficient.
func TestPowerCutAtEveryDurableWrite(t *testing.T) {
	if os.Getenv(cutRoot) != "" {
		cutVictim(t)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace, which kills at a certain system call, is not installed (Debian: apt-get install strace)")
	}
	for verb, calls := range map[string]map[string]int{ // with the minimum number of calls
		"join":          {"fsync": 1, "syncfs": 0, "renameat": 1, "exit_group": 1},
		"leave":         {"fsync": 4, "syncfs": 3, "exit_group": 1},
		"leave by hand": {"fsync": 3, "syncfs": 3, "exit_group": 1},
	} {
		template := newCutHost(t, nil)
		template.withoutAutoJoin = verb == "leave by hand"
		template.prepare(t)
		for call, atLeast := range calls {
			t.Run(verb+" at "+call, func(t *testing.T) {
				n := 1
				for cutAt(t, template, verb, call, n) {
					n++
				}
				if n-1 < atLeast {
					t.Errorf("cut only %d times", n-1)
				}
			})
		}
	}
}

// cutAt cuts the power at the n-th system call of one kind and checks the action at
// the next boot. It reports whether the process made n such calls.
func cutAt(t *testing.T, template cutHost, verb, call string, n int) bool {
	t.Helper()
	reached := false
	t.Run(fmt.Sprint(n), func(t *testing.T) {
		h := newCutHost(t, template.images)
		h.withoutAutoJoin = template.withoutAutoJoin
		test, _, _ := strings.Cut(t.Name(), "/")
		inject := fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n)
		command := exec.CommandContext(t.Context(), "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace="+call, "-e",
			inject,
			os.Args[0], "-test.run=^"+test+"$")
		command.Env = append(os.Environ(), cutRoot+"="+h.root, cutVerb+"="+verb)
		out, err := command.CombinedOutput()
		output := string(out)
		if strings.Contains(output, "FAIL") || strings.Contains(output, "strace:") {
			t.Fatalf("%v\n%s", err, out)
		}
		reached = err != nil
		after := newCutHost(t, h.images)
		after.withoutAutoJoin = template.withoutAutoJoin
		after.check(t, strings.Fields(verb)[0], output)
	})
	return reached
}
