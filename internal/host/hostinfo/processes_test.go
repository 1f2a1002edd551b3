// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestProcesses(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	const uid = 64321
	if pids, err := Processes(uid); err != nil || len(pids) > 0 {
		t.Fatalf("%v, %v", pids, err)
	}
	command := exec.Command("sleep", "60")
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := command.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = command.Wait() // it was killed
	}()
	if pids, err := Processes(uid); err != nil || !slices.Equal(pids, []int{command.Process.Pid}) {
		t.Errorf("%v, want %d, %v", pids, command.Process.Pid, err)
	}
	if status := "Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t5\t5\t5\n"; !runsAs(status, 3) || runsAs(status, 5) ||
		runsAs(strings.Replace(status, "Uid", "Pid", 1), 3) {
		t.Error("a status is misread")
	}
}
