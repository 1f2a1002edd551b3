// SPDX-License-Identifier: Apache-2.0

package autojoin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

func TestAutoJoinKeepsConfiguredInputs(t *testing.T) {
	now := time.Now()
	dir, credentials := t.TempDir(), t.TempDir()
	userData := flowtest.WriteFileWithTime(t, dir, "user-data.ign", 0o600, now)
	flowtest.WriteFileWithTime(t, credentials, "user-data.ign", 0o400, now)
	token := flowtest.WriteFileWithTime(t, credentials, "node.token", 0o400, now)
	for name, test := range map[string]struct {
		boot  Files
		given config.Join
		want  config.Join
		found bool
	}{
		"no file exists":    {boot: Files{Dir: t.TempDir()}},
		"neither directory": {},
		"the directory wins": {
			boot:  Files{dir, credentials},
			want:  config.Join{UserData: userData, JoinToken: token},
			found: true,
		},
		"credentials alone": {
			boot:  Files{t.TempDir(), credentials},
			want:  config.Join{UserData: filepath.Join(credentials, "user-data.ign"), JoinToken: token},
			found: true,
		},
		"what is configured wins": {
			boot:  Files{Dir: dir},
			given: config.Join{UserData: "/root/user-data.ign"},
			want:  config.Join{UserData: "/root/user-data.ign"},
			found: true,
		},
		"an endpoint is configured": {
			boot:  Files{Dir: dir},
			given: config.Join{Endpoint: "a.example.com"},
			want:  config.Join{Endpoint: "a.example.com"},
			found: true,
		},
		"a join token is configured": {
			boot:  Files{dir, credentials},
			given: config.Join{JoinToken: "/root/t"},
			want:  config.Join{UserData: userData, JoinToken: "/root/t"},
			found: true,
		},
		"configured, nothing dropped": {
			boot:  Files{Dir: t.TempDir()},
			given: config.Join{UserData: "/root/user-data.ign"},
			want:  config.Join{UserData: "/root/user-data.ign"},
			found: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, found, err := test.boot.Configure(test.given)
			if diff := cmp.Diff(test.want, got); diff != "" || found != test.found || err != nil {
				t.Errorf("found %t, %v (-want +got):\n%s", found, err, diff)
			}
		})
	}
}

// A user who can write the user data can run commands as root.
func TestAutoJoinRefusesFilesOfOtherUsers(t *testing.T) {
	for mode, refused := range map[os.FileMode]bool{
		0o600: false,
		0o400: false,
		0o644: false,
		0o620: true,
		0o602: true,
		0o666: true,
	} {
		dir := t.TempDir()
		flowtest.WriteFileWithTime(t, dir, "user-data.ign", mode, time.Now())
		_, _, err := Files{Dir: dir}.Configure(config.Join{})
		if (err != nil) != refused || (refused && (report.CodeOf(err) != report.Usage ||
			!strings.Contains(string(report.RemedyOf(err)), "chmod 0600"))) {
			t.Errorf("mode %s: %v", mode, err)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	dir := t.TempDir()
	if err := os.Chown(flowtest.WriteFileWithTime(t, dir, "node.token", 0o600, time.Now()), 65534, -1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (Files{Dir: dir}).Configure(config.Join{}); report.CodeOf(err) != report.Usage {
		t.Errorf("another user's join token: %v", err)
	}
}

// A recorded join is resumed with its inputs unless newer files exist.
func TestAutoJoinResumesWithNewerFiles(t *testing.T) {
	began := time.Now().Add(-time.Hour)
	before, after := began.Add(-time.Minute), began.Add(time.Minute)
	kept := config.Join{
		UserData:          "/gone",
		TokenFile:         "/gone",
		ApproveWith:       "/gone",
		IgnitionOverrides: []string{"/gone"},
		BridgeInterface:   "eth1",
	}
	for name, test := range map[string]struct {
		userData, token time.Time
		payload         string
		want            func(dir string) config.Join
	}{
		"no file exists":         {},
		"what it was begun with": {userData: before, token: before},
		"current user data": {
			userData: after,
			want:     func(dir string) config.Join { return config.Join{UserData: dir + "/user-data.ign"} },
		},
		"current user data, old join token": {userData: after, token: before, want: func(dir string) config.Join {
			return config.Join{UserData: dir + "/user-data.ign", JoinToken: dir + "/node.token"}
		}},
		"too late for user data": {userData: after, payload: "sha256:1"},
		"a fresh join token": {token: after, payload: "sha256:1", want: func(dir string) config.Join {
			return config.Join{JoinToken: dir + "/node.token", BridgeInterface: "eth1"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if !test.userData.IsZero() {
				flowtest.WriteFileWithTime(t, dir, "user-data.ign", 0o600, test.userData)
			}
			if !test.token.IsZero() {
				flowtest.WriteFileWithTime(t, dir, "node.token", 0o600, test.token)
			}
			state := joinstate.State{Started: began, Config: kept, PayloadDigest: test.payload}
			got, err := Files{Dir: dir}.NextOptions(request.Options{}, state)
			want := request.Options{Resume: true}
			if test.want != nil {
				want = request.Options{Config: test.want(dir)}
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// The input files of a finished join are removed. Files that were created later or
// not used are kept.
func TestAutoJoinRemovesFilesAfterJoin(t *testing.T) {
	ended := time.Now().Add(-time.Hour)
	for name, test := range map[string]struct {
		written time.Time
		used    bool
		gone    bool
	}{
		"used":              {ended.Add(-time.Minute), true, true},
		"came later":        {ended.Add(time.Minute), true, false},
		"joined otherwise":  {ended.Add(-time.Minute), false, false},
		"joined, and later": {ended.Add(time.Minute), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var logged flowtest.Events
			for _, file := range []string{"user-data.ign", "node.token"} {
				flowtest.WriteFileWithTime(t, dir, file, 0o600, test.written)
			}
			state := joinstate.State{Finished: ended, Config: config.Join{UserData: "/root/user-data.ign"}}
			if test.used {
				state.Config = config.Join{UserData: dir + "/user-data.ign", JoinToken: dir + "/node.token"}
			}
			Files{Dir: dir}.RemoveAfterJoin(state, report.Log{Sink: &logged})
			left, err := filepath.Glob(dir + "/*")
			if err != nil || (len(left) == 0) != test.gone || len(logged) != 2 {
				t.Errorf("left %q, said %q, %v", left, logged, err)
			}
			kind := "warning"
			if test.gone {
				kind = "note"
			}
			for _, line := range logged {
				if !strings.HasPrefix(line, kind) {
					t.Errorf("said %q", line)
				}
			}
			logged = nil
			Files{}.RemoveAfterJoin(state, report.Log{Sink: &logged})
			Files{Dir: t.TempDir()}.RemoveAfterJoin(state, report.Log{Sink: &logged})
			if len(logged) > 0 {
				t.Errorf("of nothing: %q", logged)
			}
		})
	}
}

// A host that has left must not join again with its old input files, whether the
// join had finished or not. Files for another join are kept.
func TestLeaveRemovesAutoJoinFiles(t *testing.T) {
	for name, used := range map[string]bool{"its own": true, "another's": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			userData, token := flowtest.WriteFileWithTime(t, dir, "user-data.ign", 0o600, time.Now()),
				flowtest.WriteFileWithTime(t, dir, "node.token", 0o600, time.Now())
			state := joinstate.State{Started: time.Now()}
			if used {
				state.Config = config.Join{UserData: userData, JoinToken: token}
			}
			var logged flowtest.Events
			Files{Dir: dir}.RemoveAfterLeave(state, report.Log{Sink: &logged})
			left, err := filepath.Glob(dir + "/*")
			if err != nil || (len(left) == 0) != used || len(logged) != 2 {
				t.Errorf("left %q, said %q, %v", left, logged, err)
			}
			for _, line := range logged {
				if strings.HasPrefix(line, "note") != used {
					t.Errorf("said %q", line)
				}
			}
		})
	}
}
