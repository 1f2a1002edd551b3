package host

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestSubConfinesPaths(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "etc/secret", "s")
	put(t, root, "home/a/file", "f")
	symlink(t, "/etc", root, "home/a/absolute")
	symlink(t, "../../etc", root, "home/a/relative")
	sub, info, err := tree.Sub("/home/a")
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if info.Type != Directory || info.UID != os.Geteuid() || sub.Name() != filepath.Join(root, "home/a") {
		t.Errorf("%+v, %s", info, sub.Name())
	}
	if content, _, err := sub.ReadFile("/file"); err != nil || string(content) != "f" {
		t.Errorf("%q, %v", content, err)
	}
	for _, p := range []string{"/absolute/secret", "/relative/secret", "/../../etc/secret"} {
		if there, err := sub.Exists(p); err != nil || there {
			t.Errorf("%s led out: %t, %v", p, there, err)
		}
	}
	var seen []string
	err = sub.Walk("/", func(p string, _ Info) error { seen = append(seen, p); return nil })
	if want := []string{"/absolute", "/file", "/relative"}; err != nil || !slices.Equal(seen, want) {
		t.Errorf("%v, want %v, %v", seen, want, err)
	}
	for _, p := range []string{"/home/a/file", "/home/none"} {
		if sub, _, err := tree.Sub(p); err == nil {
			sub.Close()
			t.Errorf("%s was opened as a tree", p)
		}
	}
}

func TestLockExcludes(t *testing.T) {
	tree, _ := openTest(t)
	lock, err := tree.Lock(t.Context(), "/.pwd.lock")
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if second, err := tree.Lock(ended, "/.pwd.lock"); !errors.Is(err, context.Canceled) {
		t.Errorf("locked twice: %v, %v", second, err)
	}
	lock.Close()
	again, err := tree.Lock(t.Context(), "/.pwd.lock")
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

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
	if status := "Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t5\t5\t5\n"; !runsAs(status, 3) || runsAs(status, 5) || runsAs(strings.Replace(status, "Uid", "Pid", 1), 3) {
		t.Error("a status is misread")
	}
}
