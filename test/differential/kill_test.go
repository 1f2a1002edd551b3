// SPDX-License-Identifier: Apache-2.0

//go:build differential

package differential

import (
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"
)

// killCount is the number of times that the agent is killed.
const killCount = 200

// killScenario returns a scenario with all kinds of changes.
func killScenario() scenario {
	return scenario{
		tree: []Node{
			{Path: "/srv/tree/a/b/deep", Content: "deep", Mode: 0o600, UID: 7},
			{Path: "/srv/tree/link", Link: "a"},
			{Path: "/srv/file", Content: "old\n", Mode: 0o640, GID: 8, Xattr: "kept"},
			{Path: "/srv/more", Content: "begin\n"},
			{Path: "/etc/systemd/system/a.service", Link: "/dev/null"},
			{Path: "/etc/systemd/system/multi-user.target.wants/there.service", Link: "/usr/lib/systemd/system/there.service"},
		},
		config: spec("3.6.0", `"storage":{
			"directories":[{"path":"/srv/new","mode":1472,"user":{"id":7}},{"path":"/srv/tree","overwrite":true}],
			"files":[{"path":"/srv/file","overwrite":true,"contents":{"source":"data:,ours"}},
			{"path":"/srv/more","mode":384,"append":[{"source":"data:,end%0A"}]},
				{"path":"/srv/tree/a","contents":{"source":"data:,now%20a%20file"}},`+repeatNumbered(20,
			`{"path":"/srv/new/%d/file","mode":384,"contents":{"source":"data:,%[1]d"}}`)+`],
			"links":[{"path":"/srv/link","target":"file"},{"path":"/srv/hard","target":"/srv/more","hard":true}]},
			"systemd":{"units":[{"name":"a.service","enabled":true,"contents":"[Unit]\n"},{"name":"there.service","enabled":false},{"name":"b.service","mask":true}]},
			"passwd":{"groups":[{"name":"team"}],"users":[{"name":"new","groups":["team"],"sshAuthorizedKeys":["ssh-ed25519 AAAA"]},
				{"name":"core","sshAuthorizedKeys":["ssh-ed25519 BBBB"]}]}`),
	}
}

// After a kill at any time, the next run has the same result as an undisturbed run. If the next
// run fails, it leaves the tree unchanged.
func TestApplyResumesAfterKills(t *testing.T) {
	s := killScenario()
	good := writeConfig(t, s.config)
	bad := writeConfig(t,
		storage(`"files":[{"path":"/etc/first"},{"path":"/etc/login.defs","contents":{"source":"data:,x"}}]`))

	var original, final map[string]string
	takes := time.Hour
	for range 3 { // the shortest duration counts: kills after the end of a run test nothing
		root := newTree(t, s)
		original = listTree(t, root)
		began := time.Now()
		if got := runAgent(t, "", "apply", "--payload", good, "--root", root); got.code != 0 {
			t.Fatalf("without a kill: exit code %d\n%s", got.code, got.output)
		}
		takes = min(takes, time.Since(began))
		final = listTree(t, root)
	}

	seed := rand.Uint64() //nolint:gosec // instants
	t.Logf("seed %d; a run takes %v", seed, takes)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // instants
	reverted := 0
	for i := range killCount {
		delay := time.Duration(random.Int64N(int64(takes)))
		root := newTree(t, s)
		if ran, ended := runAndKill(t, delay, "apply", "--payload", good, "--root", root); ended {
			takes = min(takes, ran) // the runs have become faster, for example because another test ended
		}
		if i%2 == 0 {
			if got := runAgent(t, "", "apply", "--payload", good, "--root", root); got.code != 0 {
				t.Errorf("after a kill at %v: exit code %d\n%s", delay, got.code, got.output)
			}
			if diff := diffListings(final, listTree(t, root)); diff != "" {
				t.Errorf("after a kill at %v and another run (-without a kill +with):\n%s", delay, diff)
			}
			continue
		}
		if got := runAgent(t, "", "apply", "--payload", bad, "--root", root); got.code != 1 {
			t.Errorf("a failing run after a kill at %v: exit code %d\n%s", delay, got.code, got.output)
		}
		after := listTree(t, root)
		if diffListings(final, after) == "" {
			continue // the run was already complete
		}
		reverted++
		if diff := diffListings(original, after); diff != "" {
			t.Errorf("after a kill at %v and a failing run (-original +got):\n%s", delay, diff)
		}
	}
	if reverted < killCount/4 {
		t.Errorf("only %d of %d killed runs were not done", reverted, killCount/2)
	}
}

// runAndKill runs the agent and kills it after a time. It returns how long it ran, and whether it ended before
// the kill.
func runAndKill(t *testing.T, after time.Duration, args ...string) (ran time.Duration, ended bool) {
	t.Helper()
	program, err := agent()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, args...)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	kill := time.AfterFunc(after, func() { _ = command.Process.Kill() }) // the process may already have ended
	defer kill.Stop()
	err = command.Wait()
	return time.Since(began), err == nil
}
