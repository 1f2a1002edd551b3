package bootstrap

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// tokenOf returns an encoded join token that was created the given time ago.
func tokenOf(t *testing.T, ca, stub []byte, ago time.Duration) []byte {
	t.Helper()
	made, _, err := enrollment.New(enrollment.Options{
		NodeName: "worker-7", ClusterCA: ca, Labels: []string{"rack=r1", "zone=z1"}, Taints: []string{"dedicated=gpu:NoSchedule", "x:NoExecute"}, UserData: stub,
		Lifetime: time.Hour,
	}, time.Now().Add(-ago))
	if err != nil {
		t.Fatal(err)
	}
	content, err := made.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestReadJoinToken(t *testing.T) {
	ca := certtest.NewCA(t, "ca").PEM
	stub := stubOf(t, "token.example.com", "clusters/token", "33")
	other := stubOf(t, "given.example.com", "clusters/given", "11")
	plain, withStub := tokenOf(t, ca, nil, 0), tokenOf(t, ca, stub, 0)
	old := tokenOf(t, ca, nil, 2*time.Hour)
	begun := State{Started: time.Now()}
	joined := State{Started: time.Now(), Finished: time.Now()}
	for name, test := range map[string]struct {
		config config.Join
		state  State
		kept   []byte
		resume bool
		stdin  string
		pool   string // NodePool in the user data that is used
		there  bool   // whether there is a join token
		want   string // part of the error
		code   report.Code
	}{
		"none":                    {config: config.Join{UserData: writeTempFile(t, other)}, pool: "clusters/given"},
		"beside a stub":           {config: config.Join{UserData: writeTempFile(t, other), JoinToken: writeTempFile(t, plain)}, pool: "clusters/given", there: true},
		"its own stub":            {config: config.Join{JoinToken: writeTempFile(t, withStub)}, pool: "clusters/token", there: true},
		"a given stub wins":       {config: config.Join{UserData: writeTempFile(t, other), JoinToken: writeTempFile(t, withStub)}, pool: "clusters/given", there: true},
		"from standard input":     {config: config.Join{JoinToken: "-"}, stdin: string(withStub), pool: "clusters/token", there: true},
		"goes on":                 {state: begun, kept: plain, pool: "clusters/token", there: true},
		"goes on, expired":        {state: begun, kept: old, pool: "clusters/token", there: true},
		"resumed, file is gone":   {config: config.Join{JoinToken: "/gone"}, state: begun, kept: plain, resume: true, pool: "clusters/token", there: true},
		"begun anew without":      {config: config.Join{UserData: writeTempFile(t, other)}, state: begun, kept: plain, pool: "clusters/given"},
		"a new one wins":          {config: config.Join{JoinToken: writeTempFile(t, plain)}, state: begun, kept: old, pool: "clusters/token", there: true},
		"joined long ago":         {config: config.Join{JoinToken: writeTempFile(t, old)}, state: joined, pool: "clusters/token", there: true},
		"no stub at all":          {config: config.Join{JoinToken: writeTempFile(t, plain)}, want: "no user-data stub was given", code: report.Usage},
		"expired":                 {config: config.Join{UserData: writeTempFile(t, other), JoinToken: writeTempFile(t, old)}, want: "expired at ", code: report.CredentialRefused},
		"no join token in it":     {config: config.Join{UserData: writeTempFile(t, other), JoinToken: writeTempFile(t, other)}, want: "reading the join token: ", code: report.Usage},
		"missing":                 {config: config.Join{UserData: writeTempFile(t, other), JoinToken: "/gone/worker.token"}, want: "reading --join-token: open /gone", code: report.Usage},
		"standard input is taken": {config: config.Join{UserData: "-", JoinToken: "-"}, stdin: string(plain), want: "--join-token and --ignition-override, not several", code: report.Usage},
		"kept one is damaged":     {state: begun, kept: []byte("x"), want: "reading the join token", code: report.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if test.kept != nil {
				if err := SaveFile(dir, JoinTokenFile, test.kept); err != nil {
					t.Fatal(err)
				}
			}
			if test.state.Exists() {
				if err := SaveFile(dir, UserDataFile, stub); err != nil {
					t.Fatal(err)
				}
			}
			in, err := ReadInputs(test.config, test.state, dir, test.resume, strings.NewReader(test.stdin))
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) || report.CodeOf(err) != test.code || report.RemedyOf(err) == "" {
					t.Errorf("error %v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
				}
				return
			}
			if err != nil || (in.JoinToken != nil) != test.there || in.UserData == nil || in.UserData.NodePool() != test.pool {
				t.Errorf("token %v, stub %v, error %v", in.JoinToken, in.UserData, err)
			}
		})
	}
}

// An unfinished join keeps the join token, readable only by root and without its
// user data. The token is removed when the join has finished or its records are
// removed.
func TestJoinTokenIsKeptWhileTheJoinIsUnfinished(t *testing.T) {
	dir := t.TempDir()
	stub := stubOf(t, "token.example.com", "clusters/token", "33")
	in, err := ReadInputs(config.Join{JoinToken: writeTempFile(t, tokenOf(t, certtest.NewCA(t, "ca").PEM, stub, 0))}, State{}, dir, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	j := &join{Builder: &Builder{Dir: dir, Inputs: in, Sink: &events{}, Machine: &Machine{Facts: hostinfo.Facts{MachineID: "one"}}}}
	if err := j.recordStart(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, JoinTokenFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	again, err := ReadInputs(config.Join{}, j.State, dir, true, nil)
	if err != nil || again.JoinToken == nil || again.JoinToken.ID != in.JoinToken.ID || again.JoinToken.UserData != nil || again.UserData.NodePool() != "clusters/token" {
		t.Errorf("resumed with %v, stub %v, %v", again.JoinToken, again.UserData, err)
	}
	if err := j.finish(true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after the join the join token is still there: %v", err)
	}
	if err := SaveJoinToken(dir, in.JoinToken); err != nil {
		t.Fatal(err)
	}
	if err := SaveJoinToken(dir, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a join that begins anew without a join token has the old one: %v", err)
	}
}

func TestJoinTokenLabelsAndTaints(t *testing.T) {
	made, err := enrollment.ParseToken(tokenOf(t, certtest.NewCA(t, "ca").PEM, nil, 0))
	if err != nil {
		t.Fatal(err)
	}
	given := config.Join{Labels: []string{"zone=here"}, Taints: []string{"dedicated=cpu:NoSchedule", "x:NoSchedule"}}
	got := MergeJoinToken(given, made)
	if !slices.Equal(got.Labels, []string{"zone=here", "rack=r1"}) || !slices.Equal(got.Taints, []string{"dedicated=cpu:NoSchedule", "x:NoSchedule", "x:NoExecute"}) {
		t.Errorf("labels %q, taints %q", got.Labels, got.Taints)
	}
	if again := MergeJoinToken(got, made); !slices.Equal(again.Labels, got.Labels) || !slices.Equal(again.Taints, got.Taints) {
		t.Errorf("a resumed join has labels %q, taints %q", again.Labels, again.Taints)
	}
	if len(given.Labels) != 1 || MergeJoinToken(given, nil).Labels[0] != "zone=here" {
		t.Error("the given list was changed")
	}
}

func TestJoinTokenOfAnotherNodeOrClusterIsRefused(t *testing.T) {
	ca := certtest.NewCA(t, "ca").PEM
	good, err := enrollment.ParseToken(tokenOf(t, ca, nil, 0))
	if err != nil {
		t.Fatal(err)
	}
	old, err := enrollment.ParseToken(tokenOf(t, ca, nil, 2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		token  *enrollment.Token
		node   string
		ca     []byte
		want   string
		remedy string
	}{
		"fits":            {good, "worker-7", ca, "", ""},
		"none":            {nil, "worker-8", ca, "", ""},
		"another node":    {good, "worker-8", ca, "is for the node worker-7, and this node is worker-8", "hostnamectl set-hostname worker-7"},
		"another cluster": {good, "worker-7", certtest.NewCA(t, "ca").PEM, "cannot be used with https://api.example.com:6443: the join token " + good.ID + " is for another cluster", "token create"},
	} {
		j := &Builder{NodeName: test.node, Inputs: Inputs{JoinToken: test.token}, State: State{APIServer: "https://api.example.com:6443", APIServerCA: test.ca}}
		err := j.checkJoinToken()
		if (err == nil) != (test.want == "") || (err != nil && (!strings.Contains(err.Error(), test.want) || report.CodeOf(err) != report.Refused || !strings.Contains(report.RemedyOf(err), test.remedy))) {
			t.Errorf("%s: %v, code %d, remedy %q", name, err, report.CodeOf(err), report.RemedyOf(err))
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	annotate := func(of *enrollment.Token) (map[string]string, error) {
		return (&Builder{Inputs: Inputs{JoinToken: of}, State: State{APIServerCA: ca}}).csrAnnotations()(&key.PublicKey)
	}
	if proof, err := annotate(good); err != nil || proof[enrollment.AnnotationID] != good.ID {
		t.Errorf("proof %v, %v", proof, err)
	}
	if _, err := annotate(old); report.CodeOf(err) != report.CredentialRefused || !strings.Contains(err.Error(), "by this host's clock") {
		t.Errorf("expired: %v", err)
	}
	if (&Builder{}).csrAnnotations() != nil {
		t.Error("a join without a token annotates")
	}
}
