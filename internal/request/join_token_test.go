// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

func TestReadJoinToken(t *testing.T) {
	ca := certtest.NewCA(t, "ca").PEM
	userData := flowtest.EncodeUserData(t, "token.example.com", "clusters/token", "33")
	other := flowtest.EncodeUserData(t, "given.example.com", "clusters/given", "11")
	plain, withUserData := flowtest.EncodeJoinToken(t, ca, nil, 0), flowtest.EncodeJoinToken(t, ca, userData, 0)
	old := flowtest.EncodeJoinToken(t, ca, nil, 2*time.Hour)
	begun := joinstate.State{Started: time.Now()}
	joined := joinstate.State{Started: time.Now(), Finished: time.Now()}
	for name, test := range map[string]struct {
		config config.Join
		state  joinstate.State
		kept   []byte
		resume bool
		stdin  string
		pool   string // NodePool in the user data that is used
		there  bool   // whether there is a join token
		want   string // part of the error
		code   report.Code
	}{
		"none": {config: config.Join{UserData: flowtest.WriteTempFile(t, other)}, pool: "clusters/given"},
		"beside user data": {
			config: config.Join{UserData: flowtest.WriteTempFile(t, other), JoinToken: flowtest.WriteTempFile(t, plain)},
			pool:   "clusters/given",
			there:  true,
		},
		"its own user data": {
			config: config.Join{JoinToken: flowtest.WriteTempFile(t, withUserData)},
			pool:   "clusters/token",
			there:  true,
		},
		"a given user data wins": {
			config: config.Join{UserData: flowtest.WriteTempFile(t, other), JoinToken: flowtest.WriteTempFile(t, withUserData)},
			pool:   "clusters/given",
			there:  true,
		},
		"from standard input": {
			config: config.Join{JoinToken: "-"},
			stdin:  string(withUserData),
			pool:   "clusters/token",
			there:  true,
		},
		"resumed":          {state: begun, kept: plain, pool: "clusters/token", there: true},
		"resumed, expired": {state: begun, kept: old, pool: "clusters/token", there: true},
		"resumed, file is gone": {
			config: config.Join{JoinToken: "/gone"},
			state:  begun,
			kept:   plain,
			resume: true,
			pool:   "clusters/token",
			there:  true,
		},
		"started again without": {
			config: config.Join{UserData: flowtest.WriteTempFile(t, other)},
			state:  begun,
			kept:   plain,
			pool:   "clusters/given",
		},
		"a new one wins": {
			config: config.Join{JoinToken: flowtest.WriteTempFile(t, plain)},
			state:  begun,
			kept:   old,
			pool:   "clusters/token",
			there:  true,
		},
		"joined long ago": {
			config: config.Join{JoinToken: flowtest.WriteTempFile(t, old)},
			state:  joined,
			pool:   "clusters/token",
			there:  true,
		},
		"no user data at all": {
			config: config.Join{JoinToken: flowtest.WriteTempFile(t, plain)},
			want:   "no user data was given",
			code:   report.Usage,
		},
		"expired": {
			config: config.Join{UserData: flowtest.WriteTempFile(t, other), JoinToken: flowtest.WriteTempFile(t, old)},
			want:   "expired at ",
			code:   report.CredentialRefused,
		},
		"no join token in it": {
			config: config.Join{UserData: flowtest.WriteTempFile(t, other), JoinToken: flowtest.WriteTempFile(t, other)},
			want:   "reading the join token: ",
			code:   report.Usage,
		},
		"missing": {
			config: config.Join{UserData: flowtest.WriteTempFile(t, other), JoinToken: "/gone/worker.token"},
			want:   "--join-token: open /gone",
			code:   report.Usage,
		},
		"standard input is taken": {
			config: config.Join{UserData: "-", JoinToken: "-"},
			stdin:  string(plain),
			want:   "--join-token and --ignition-override can read standard input",
			code:   report.Usage,
		},
		"kept one is damaged": {state: begun, kept: []byte("x"), want: "reading the join token", code: report.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if test.kept != nil {
				if err := joinstate.SaveFile(dir, joinstate.JoinTokenFile, test.kept); err != nil {
					t.Fatal(err)
				}
			}
			if test.state.Exists() {
				if err := joinstate.SaveFile(dir, joinstate.UserDataFile, userData); err != nil {
					t.Fatal(err)
				}
			}
			in, err := Read(t.Context(), Options{
				Config:   test.config,
				StateDir: dir,
				Resume:   test.resume,
				Stdin:    strings.NewReader(test.stdin),
			}, test.state, UserDataRequired)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) || report.CodeOf(err) != test.code {
					t.Errorf("error %v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
				}
				return
			}
			if err != nil || (in.JoinToken != nil) != test.there || in.UserData == nil || in.UserData.NodePool() != test.pool {
				t.Errorf("token %v, user data %v, error %v", in.JoinToken, in.UserData, err)
			}
		})
	}
}

func TestJoinTokenLabelsAndTaints(t *testing.T) {
	made, err := enrollment.ParseToken(flowtest.EncodeJoinToken(t, certtest.NewCA(t, "ca").PEM, nil, 0))
	if err != nil {
		t.Fatal(err)
	}
	given := config.Join{Labels: []string{"zone=here"}, Taints: []string{"dedicated=cpu:NoSchedule", "x:NoSchedule"}}
	merge := func(c config.Join, t *enrollment.Token) config.Join {
		r := Request{Config: c, JoinToken: t}
		r.mergeJoinToken()
		return r.Config
	}
	got := merge(given, made)
	if !slices.Equal(got.Labels, []string{"zone=here", "rack=r1"}) ||
		!slices.Equal(got.Taints, []string{"dedicated=cpu:NoSchedule", "x:NoSchedule", "x:NoExecute"}) {
		t.Errorf("labels %q, taints %q", got.Labels, got.Taints)
	}
	if again := merge(got, made); !slices.Equal(again.Labels, got.Labels) ||
		!slices.Equal(again.Taints, got.Taints) {
		t.Errorf("a resumed join has labels %q, taints %q", again.Labels, again.Taints)
	}
	if len(given.Labels) != 1 || merge(given, nil).Labels[0] != "zone=here" {
		t.Error("the given list was changed")
	}
}

// The labels and taints of a join token are settings of the run that is given it, and of each later run of the join.
func TestSettingsContainThoseOfTheJoinToken(t *testing.T) {
	dir := t.TempDir()
	userData := flowtest.EncodeUserData(t, "token.example.com", "clusters/token", "33")
	content := flowtest.EncodeJoinToken(t, certtest.NewCA(t, "ca").PEM, userData, 0)
	want := []string{"zone=here", "rack=r1"}
	given := Options{StateDir: dir, Config: config.Join{
		JoinToken: flowtest.WriteTempFile(t, content), Labels: []string{"zone=here"},
	}}
	first, err := Read(t.Context(), given, joinstate.State{}, UserDataRequired)
	if err != nil || !slices.Equal(first.Config.Labels, want) {
		t.Fatalf("labels %q, %v", first.Config.Labels, err)
	}
	if err := SaveJoinToken(dir, first.JoinToken); err != nil {
		t.Fatal(err)
	}
	begun := joinstate.State{Started: time.Now(), Config: first.Config}
	for name, later := range map[string]Options{
		"resumed":                   {StateDir: dir, Resume: true},
		"repeated":                  {StateDir: dir},
		"repeated with the setting": {StateDir: dir, Config: config.Join{Labels: []string{"zone=here"}}},
	} {
		again, err := Read(t.Context(), later, begun, UserDataOptional)
		if err != nil || !slices.Equal(again.Config.Labels, want) {
			t.Errorf("%s: labels %q, %v", name, again.Config.Labels, err)
		}
	}
}
