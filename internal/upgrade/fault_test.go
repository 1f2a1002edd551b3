// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// faultDir and faultVerb turn the test binary into the process with the fault.
const (
	faultDir  = "HCP_TEST_FAULT_DIR"
	faultVerb = "HCP_TEST_FAULT_VERB"
)

func softwareOf(minor int) software.Contents {
	return software.Contents{Release: software.Release{Major: 4, Minor: minor}}
}

// recordUpgradedHost writes the records of a host that was upgraded from payload Z (4.19) to A (4.20).
func recordUpgradedHost(t *testing.T, dir string) {
	t.Helper()
	state := joinedState()
	for _, one := range []struct {
		payload string
		minor   int
	}{{"Z", 19}, {"A", 20}} {
		state.PayloadDigest = one.payload
		flowtest.NoError(t, joinstate.Write(dir, state))
		flowtest.NoError(t, joinstate.SaveFile(dir, joinstate.PayloadFile, []byte("payload "+one.payload)))
		flowtest.NoError(t, joinstate.SaveSoftware(dir, softwareOf(one.minor)))
		if one.payload == "Z" {
			generation, err := joinstate.CurrentGeneration(dir, state)
			flowtest.NoError(t, err)
			flowtest.NoError(t, generation.Save(dir, joinstate.PreviousFile))
		}
	}
}

// upgradeToB returns an upgrade of the host to payload B (4.21).
func upgradeToB(t *testing.T, dir string) *run {
	t.Helper()
	state, err := joinstate.Read(dir)
	flowtest.NoError(t, err)
	contents := softwareOf(21)
	r := &run{node: bootstrap.NewFlow(plan.Run{Dir: dir, State: state}, nil)}
	r.node.UsePayload(payload.Loaded{Payload: &ignition.Payload{Raw: []byte("payload B")}})
	r.node.Software.Contents = &contents
	r.node.Run.State.PayloadDigest, r.node.Run.State.ConfigHash = "B", "b"
	return r
}

// runFaulty runs as the process with the fault, on one thread, so that its system calls can be counted.
func runFaulty(t *testing.T, dir, verb string) {
	t.Helper()
	runtime.LockOSThread()
	var err error
	if verb == "upgrade" {
		err = upgradeToB(t, dir).commit(effects.Effects{
			{Target: "/etc/crio/a", Action: effects.Restart, Unit: systemd.CRIOUnit},
		})
	} else {
		err = rollBack(t, dir)
	}
	fmt.Println("result", err)
}

func rollBack(t *testing.T, dir string) error {
	t.Helper()
	state, err := joinstate.Read(dir)
	flowtest.NoError(t, err)
	if err := startRollback(dir, state, "requested by the administrator"); err != nil {
		return err
	}
	return resumeUpgrade(t, dir)
}

// resumeUpgrade does what the next run does with an unfinished upgrade. Without one, it does nothing.
func resumeUpgrade(t *testing.T, dir string) error {
	t.Helper()
	state, err := joinstate.Read(dir)
	flowtest.NoError(t, err)
	if state.Upgrade == nil {
		return nil
	}
	r := &run{node: bootstrap.NewFlow(plan.Run{Dir: dir, State: state}, nil)}
	return r.installGeneration(t.Context())
}

// describeRecords returns the payloads in the records.
func describeRecords(t *testing.T, dir string) string {
	t.Helper()
	state, err := joinstate.Read(dir)
	flowtest.NoError(t, err)
	installed, err := joinstate.LoadFile(dir, joinstate.PayloadFile)
	flowtest.NoError(t, err)
	previous, err := joinstate.LoadGeneration(dir, joinstate.PreviousFile)
	flowtest.NoError(t, err)
	text := fmt.Sprintf("state %s, %s, previous %s", state.PayloadDigest, installed, previous.Files[joinstate.PayloadFile])
	if u := state.Upgrade; u != nil {
		text += fmt.Sprintf(", to %s, rollback %t", u.To, u.RollingBack != "")
	}
	return text
}

// Whichever system call fails or is the last one, the records of an upgrade and of its rollback must name
// the installed payload, and the generation to which a rollback leads.
func TestUpgradeRecordsSurviveFaults(t *testing.T) {
	if dir := os.Getenv(faultDir); dir != "" {
		runFaulty(t, dir, os.Getenv(faultVerb))
		return
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace, which injects faults into system calls, is not installed (Debian: apt-get install strace)")
	}
	const (
		unchanged  = "state A, payload A, previous payload Z"
		upgrading  = "state B, payload B, previous payload A, to 4.21, rollback false"
		rolledBack = "state A, payload A, previous payload A, to 4.20, rollback true"
	)
	for verb, want := range map[string][]string{
		"upgrade":         {unchanged, upgrading},
		"rollback":        {upgrading, rolledBack}, // of the unfinished upgrade
		"rollback at end": {"state B, payload B, previous payload A", rolledBack},
	} {
		template := t.TempDir()
		recordUpgradedHost(t, template)
		if verb != "upgrade" {
			r := upgradeToB(t, template)
			flowtest.NoError(t, r.commit(nil))
			if verb == "rollback at end" {
				flowtest.NoError(t, joinstate.FinishUpgrade(template, &r.node.Run.State))
			}
		}
		// Every rename and removal is followed by an fsync.
		for _, fault := range []string{"fsync:signal=KILL", "write:error=ENOSPC", "renameat:error=ENOSPC"} {
			t.Run(verb+" "+fault, func(t *testing.T) {
				reached := map[string]int{}
				for n := 1; ; n++ {
					dir := filepath.Join(t.TempDir(), "state")
					flowtest.NoError(t, os.CopyFS(dir, os.DirFS(template)))
					output, isHit := injectFault(t, dir, verb, fault, n)
					if !isHit {
						break
					}
					err := resumeUpgrade(t, dir)
					flowtest.NoError(t, err)
					records := describeRecords(t, dir)
					reached[records]++
					if records != want[0] && records != want[1] {
						t.Errorf("call %d: after the next run: %s, want %q\n%s", n, records, want, output)
					}
				}
				if len(reached) == 0 {
					t.Error("no call was reached")
				}
			})
		}
	}
}

// injectFault runs a verb with a fault at the n-th system call of its kind. It reports whether there was
// such a call.
func injectFault(t *testing.T, dir, verb, fault string, n int) (output string, isHit bool) {
	t.Helper()
	call, _, _ := strings.Cut(fault, ":")
	trace := filepath.Join(t.TempDir(), "trace")
	test, _, _ := strings.Cut(t.Name(), "/")
	command := exec.CommandContext(t.Context(), "strace", "-f", "-qq", "-o", trace, "-e", "trace="+call,
		"-e", fmt.Sprintf("inject=%s:when=%d", fault, n), os.Args[0], "-test.run=^"+test+"$")
	command.Env = append(os.Environ(), faultDir+"="+dir, faultVerb+"="+verb, "GORACE=atexit_sleep_ms=0")
	out, err := command.CombinedOutput()
	traced, readErr := os.ReadFile(trace)
	flowtest.NoError(t, readErr)
	isKilled := err != nil && !strings.Contains(string(out), "result")
	return string(out), isKilled || strings.Contains(string(traced), "INJECTED")
}
