// SPDX-License-Identifier: Apache-2.0

package request

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

func TestReadInputs(t *testing.T) {
	userData := flowtest.EncodeUserData(t, "given.example.com", "clusters/given", "11")
	kept := flowtest.EncodeUserData(t, "kept.example.com", "clusters/kept", "22")
	begun := joinstate.State{Started: time.Now()}
	for name, test := range map[string]struct {
		config   config.Join
		state    joinstate.State
		kept     []byte // content of the file in the state directory
		resume   bool
		stdin    string
		pool     string // NodePool in the user data, "" if no user data is expected
		host     string
		approver string
	}{
		"file": {
			config: config.Join{UserData: flowtest.WriteTempFile(t, userData)},
			pool:   "clusters/given",
			host:   "given.example.com",
		},
		"standard input": {
			config: config.Join{UserData: "-"},
			stdin:  string(userData),
			pool:   "clusters/given",
			host:   "given.example.com",
		},
		"a new user data wins": {
			config: config.Join{UserData: flowtest.WriteTempFile(t, userData)},
			state:  begun,
			kept:   kept,
			pool:   "clusters/given",
			host:   "given.example.com",
		},
		"values win over it": {
			config: config.Join{
				UserData: flowtest.WriteTempFile(t, userData),
				Endpoint: "other.example.com:8443",
				NodePool: "clusters/other",
			},
			pool: "clusters/other",
			host: "other.example.com:8443",
		},
		"values alone": {
			config: config.Join{
				Endpoint:  "alone.example.com",
				TokenFile: flowtest.WriteTempFile(t, []byte(flowtest.UUID+"\n")),
				CAFile:    flowtest.WriteTempFile(t, certtest.NewCA(t, "ca").PEM),
			},
			host: "alone.example.com",
		},
		"repeated": {state: begun, kept: kept, pool: "clusters/kept", host: "kept.example.com"},
		"repeated, with a value": {
			config: config.Join{NodePool: "clusters/other"},
			state:  begun,
			kept:   kept,
			pool:   "clusters/other",
			host:   "kept.example.com",
		},
		"was finished": {state: begun},
		"approver": {
			config:   config.Join{UserData: flowtest.WriteTempFile(t, userData), ApproveWith: "-"},
			stdin:    "kubeconfig",
			pool:     "clusters/given",
			host:     "given.example.com",
			approver: "kubeconfig",
		},
		"resumed": {
			config: config.Join{
				UserData:    "/gone/user-data.ign",
				Endpoint:    "older.example.com",
				TokenFile:   "/gone/token",
				CAFile:      "/gone/ca",
				ApproveWith: "/gone/kubeconfig",
			},
			state: begun, kept: kept, resume: true, pool: "clusters/kept", host: "kept.example.com",
		},
		"resumed, its inputs were on standard input": {
			config: config.Join{UserData: "-", IgnitionOverrides: []string{"-"}},
			state:  begun, kept: kept, resume: true, pool: "clusters/kept", host: "kept.example.com",
		},
		"resumed after its end": {
			config: config.Join{Endpoint: "older.example.com", TokenFile: "/gone/token"},
			state:  begun,
			resume: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if test.kept != nil {
				if err := joinstate.SaveFile(dir, joinstate.UserDataFile, test.kept); err != nil {
					t.Fatal(err)
				}
			}
			in, err := Read(t.Context(), Options{
				Config:   test.config,
				StateDir: dir,
				Resume:   test.resume,
				Stdin:    strings.NewReader(test.stdin),
			}, test.state, UserDataRequired)
			if err != nil {
				t.Fatal(err)
			}
			if string(in.Approver) != test.approver {
				t.Errorf("approver %q", in.Approver)
			}
			if test.host == "" {
				if in.UserData != nil {
					t.Errorf("there is user data: %s", in.UserData)
				}
				return
			}
			if in.UserData == nil || in.UserData.NodePool() != test.pool || in.UserData.Source.Host != test.host ||
				!in.UserData.HasToken() {
				t.Errorf("user data %s", in.UserData)
			}
		})
	}
}

func TestReadInputsRefuses(t *testing.T) {
	userData := flowtest.WriteTempFile(t, flowtest.EncodeUserData(t, "given.example.com", "clusters/given", "11"))
	broken := iotest.ErrReader(errors.New("broken pipe"))
	for name, test := range map[string]struct {
		config config.Join
		stdin  io.Reader
		want   string
		remedy string
	}{
		"nothing": {
			config.Join{}, nil, "no user data was given", "\n# on this host:\nhcp-node-agent plan --user-data user-data.ign",
		},
		"standard input twice": {config.Join{UserData: "-", ApproveWith: "-"}, nil, "can read standard input", ""},
		"missing file": {
			config.Join{UserData: "/gone/user-data.ign"}, nil, "--user-data: open /gone/user-data.ign", "",
		},
		"a directory":          {config.Join{UserData: t.TempDir()}, nil, "--user-data: ", ""},
		"empty file":           {config.Join{UserData: flowtest.WriteTempFile(t, nil)}, nil, "input\" is empty", ""},
		"empty standard input": {config.Join{UserData: "-"}, strings.NewReader(""), "standard input is empty", ""},
		"broken input":         {config.Join{UserData: "-"}, broken, "broken pipe", ""},
		"too much": {
			config.Join{UserData: "-"}, io.LimitReader(endless{}, maxInputSize+1), "larger than 32 MiB", "",
		},
		"no user data": {
			config.Join{UserData: flowtest.WriteTempFile(t, []byte("hello"))},
			nil, "the input is not JSON",
			"get secret user-data-",
		},
		"missing approver": {config.Join{UserData: userData, ApproveWith: "/gone/kubeconfig"}, nil, "--approve-with", ""},
		"missing token":    {config.Join{UserData: userData, TokenFile: "/gone/token"}, nil, "--token-file", ""},
		"missing CA":       {config.Join{UserData: userData, CAFile: "/gone/ca"}, nil, "--ca-file", ""},
		"token from stdin": {
			config.Join{UserData: userData, TokenFile: "-"},
			strings.NewReader(flowtest.UUID),
			"--token-file: standard input is not supported", "",
		},
		"endpoint without CA": {config.Join{Endpoint: "a.example.com"}, nil, "the CA of the ignition server", "ca.crt"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(t.Context(), Options{Command: "plan", Config: test.config, StateDir: t.TempDir(), Stdin: test.stdin},
				joinstate.State{}, UserDataRequired)
			if err == nil || !strings.Contains(err.Error(), test.want) || report.CodeOf(err) != report.Usage ||
				!strings.Contains(string(report.RemedyOf(err)), test.remedy) {
				t.Errorf("error %v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
			}
			if err != nil && strings.Contains(err.Error()+string(report.RemedyOf(err)), flowtest.UUID) {
				t.Error("the error shows the token")
			}
		})
	}
	_, err := Read(t.Context(), Options{Config: config.Join{UserData: "/gone/user-data.ign"}, StateDir: t.TempDir()},
		joinstate.State{}, UserDataRequired)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cause is lost: %v", err)
	}
}

// A command that has waited for another run reads its request again, but standard input only once.
func TestReadAgainWithTheSameStandardInput(t *testing.T) {
	userData := string(flowtest.EncodeUserData(t, "given.example.com", "clusters/given", "11"))
	o := Options{Config: config.Join{UserData: "-"}, StateDir: t.TempDir(), Stdin: strings.NewReader(userData)}
	for range 2 {
		r, err := Read(t.Context(), o, joinstate.State{}, UserDataRequired)
		if err != nil || r.UserData.NodePool() != "clusters/given" || string(r.Stdin) != userData {
			t.Fatalf("user data %s, %v", r.UserData, err)
		}
		o.Stdin = bytes.NewReader(r.Stdin)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
