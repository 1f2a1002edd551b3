// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

const credential = "credential-CANARY" //nolint:gosec // of the test

// awaitingPermission is logged while the controller has not granted the permission yet.
const awaitingPermission = "waiting for the permission to read the user data"

// fakeCluster is an API server with one Secret.
type fakeCluster struct {
	server   *httptest.Server
	requests atomic.Int32
	status   int               // of the response
	failures atomic.Int32      // number of requests after which the status is OK, 0 for all
	data     map[string][]byte // of the Secret
}

func newFakeCluster(t *testing.T) *fakeCluster {
	t.Helper()
	c := &fakeCluster{status: http.StatusOK}
	c.server = httptest.NewTLSServer(c)
	t.Cleanup(c.server.Close)
	return c
}

func (c *fakeCluster) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	count := c.requests.Add(1)
	var response any = corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Data: c.data}
	status := c.status
	if limit := c.failures.Load(); limit > 0 && count > limit {
		status = http.StatusOK
	}
	switch {
	case request.Header.Get("Authorization") != "Bearer "+credential:
		status = http.StatusUnauthorized
	case request.URL.Path != "/api/v1/namespaces/hcp-node-admin/secrets/user-data-workers":
		status = http.StatusNotFound
	}
	if status != http.StatusOK {
		response = metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Reason: reasons[status], Code: int32(status), //nolint:gosec // a status of HTTP
			Message: "a message",
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(response)
}

var reasons = map[int]metav1.StatusReason{
	http.StatusUnauthorized: metav1.StatusReasonUnauthorized, http.StatusForbidden: metav1.StatusReasonForbidden,
	http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
}

// token returns a join token with the credential of the cluster.
func (c *fakeCluster) token(t *testing.T, change func(*enrollment.Cluster)) []byte {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.server.Certificate().Raw})
	cluster := &enrollment.Cluster{
		Server: c.server.URL, CA: string(ca), BearerToken: credential, Secret: "user-data-workers",
	}
	if change != nil {
		change(cluster)
	}
	made, _, err := enrollment.New(enrollment.Options{NodeName: "worker-7", ClusterCA: ca, Cluster: cluster}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	content, err := made.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// A join gets its user data from the cluster of its join token only as long as it has no other, and no payload.
func TestUserDataOfTheCluster(t *testing.T) {
	fetched := flowtest.EncodeUserData(t, "fetched.example.com", "clusters/fetched", "11")
	given := flowtest.EncodeUserData(t, "given.example.com", "clusters/given", "22")
	saved := flowtest.EncodeUserData(t, "saved.example.com", "clusters/saved", "33")
	cluster := newFakeCluster(t)
	cluster.data = map[string][]byte{"user-data.ign": fetched, "other": given}
	token := cluster.token(t, nil)
	file, tokenFile := flowtest.WriteTempFile(t, given), flowtest.WriteTempFile(t, token)
	begun := joinstate.State{Started: time.Now()}
	withFile := joinstate.State{Started: time.Now(), Config: config.Join{UserData: "/gone"}}
	withPool := joinstate.State{Started: time.Now(), Config: config.Join{NodePool: "clusters/x"}}
	withPayload := joinstate.State{Started: time.Now(), PayloadDigest: "x"}
	joined := joinstate.State{Started: time.Now(), Finished: time.Now()}
	for name, test := range map[string]struct {
		options  Options
		state    joinstate.State
		pool     string
		requests int32
	}{
		"first join": {Options{Config: config.Join{JoinToken: tokenFile}}, joinstate.State{}, "clusters/fetched", 1},
		"given user data": {
			Options{Config: config.Join{JoinToken: tokenFile, UserData: file}}, begun, "clusters/given", 0,
		},
		"repeated":            {Options{}, begun, "clusters/fetched", 1},
		"repeated with token": {Options{Config: config.Join{JoinToken: tokenFile}}, begun, "clusters/fetched", 1},
		"repeated, started with a file": {
			Options{}, withFile, "clusters/saved", 0,
		},
		"token given later than a file": {
			Options{Config: config.Join{JoinToken: tokenFile}}, withFile, "clusters/fetched", 1,
		},
		"resumed":                      {Options{Resume: true}, begun, "clusters/fetched", 1},
		"resumed, started with a file": {Options{Resume: true}, withFile, "clusters/saved", 0},
		"resumed, with a value":        {Options{Resume: true}, withPool, "clusters/saved", 0},
		"resumed with a payload":       {Options{Resume: true}, withPayload, "clusters/saved", 0},
		"repeated with a payload": {
			Options{Config: config.Join{JoinToken: tokenFile}}, withPayload, "clusters/saved", 0,
		},
		"joined":  {Options{Config: config.Join{JoinToken: tokenFile}}, joined, "clusters/saved", 0},
		"offline": {Options{Offline: true}, begun, "clusters/saved", 0},
		"with another value": {
			Options{Config: config.Join{JoinToken: tokenFile, NodePool: "clusters/y"}}, joinstate.State{}, "clusters/y", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.StateDir = t.TempDir()
			for name, content := range map[string][]byte{joinstate.UserDataFile: saved, joinstate.JoinTokenFile: token} {
				if err := joinstate.SaveFile(test.options.StateDir, name, content); err != nil {
					t.Fatal(err)
				}
			}
			cluster.requests.Store(0)
			in, err := Read(t.Context(), test.options, test.state, UserDataRequired)
			if err != nil {
				t.Fatal(err)
			}
			if in.UserData == nil || in.UserData.NodePool() != test.pool || cluster.requests.Load() != test.requests {
				t.Errorf("user data %v after %d requests", in.UserData, cluster.requests.Load())
			}
		})
	}
}

func TestSavedJoinTokenKeepsTheCluster(t *testing.T) {
	cluster, dir := newFakeCluster(t), t.TempDir()
	token, err := enrollment.ParseToken(cluster.token(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := SaveJoinToken(dir, token); err != nil {
		t.Fatal(err)
	}
	content, err := joinstate.LoadFile(dir, joinstate.JoinTokenFile)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := enrollment.ParseToken(content); err != nil || *again.Cluster != *token.Cluster {
		t.Errorf("%v, %v", again, err)
	}
}

func TestUserDataOfTheClusterFails(t *testing.T) {
	other := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	for name, test := range map[string]struct {
		status int
		data   map[string][]byte
		change func(*enrollment.Cluster)
		code   report.Code
		want   string
		remedy string
		waits  bool
	}{
		"rejected": {
			status: http.StatusUnauthorized, code: report.CredentialRefused,
			want: "HTTP 401): it has expired, or the enrollment of worker-7 was revoked", remedy: "--user-data user-data.ign",
		},
		"forbidden": {
			status: http.StatusForbidden, code: report.CredentialRefused, want: "no permission (HTTP 403)",
			remedy: "oc -n hcp-node-admin get rolebinding user-data-workers -o yaml",
		},
		"not published": {
			status: http.StatusNotFound, code: report.Failed, want: "it does not exist: the controller does not publish",
			remedy: "oc -n hcp-node-admin get secrets -l hcp-node-agent.io/nodepool",
		},
		"without the key": {
			status: http.StatusOK, data: map[string][]byte{"value": []byte("{}")}, code: report.Failed,
			want: "it has no key user-data.ign", remedy: "oc -n hcp-node-admin get secrets",
		},
		"no user data": {
			status: http.StatusOK, data: map[string][]byte{"user-data.ign": []byte("CANARY")}, code: report.Usage,
			want: "the input is not JSON",
		},
		"too large": {
			status: http.StatusOK, data: map[string][]byte{"user-data.ign": make([]byte, maxSecretBytes)},
			code: report.Failed, want: "request body too large", waits: true,
		},
		"not ready": {
			status: http.StatusServiceUnavailable, code: report.Failed, want: "HTTP 503", remedy: "kube-apiserver", waits: true,
		},
		"unreachable": {
			change: func(c *enrollment.Cluster) { c.Server = "https://127.0.0.1:1" }, code: report.Failed,
			want: "127.0.0.1:1 refused the connection", waits: true,
		},
		"another server": {
			change: func(c *enrollment.Cluster) { c.Server = "https://localhost:" + strings.Split(c.Server, ":")[2] },
			code:   report.Failed, want: "localhost", waits: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newFakeCluster(t)
			cluster.status, cluster.data = test.status, test.data
			const awaitingServer = "waiting for the API server"
			recorded := &reporttest.Recorder{}
			ctx := waittest.Context(t)
			switch {
			case test.waits:
				ctx = recorded.DeadlineAt(t, awaitingServer)
			case test.status == http.StatusForbidden:
				ctx = recorded.DeadlineAtNth(t, 2, awaitingPermission)
			}
			_, err := Read(ctx, Options{
				Config: config.Join{JoinToken: flowtest.WriteTempFile(t, cluster.token(t, test.change))}, Sink: recorded,
				StateDir: t.TempDir(),
			}, joinstate.State{}, UserDataRequired)
			if report.CodeOf(err) != test.code || !strings.Contains(fmt.Sprint(err), test.want) ||
				!strings.Contains(string(report.RemedyOf(err)), test.remedy) {
				t.Errorf("code %d, %v, remedy %q", report.CodeOf(err), err, report.RemedyOf(err))
			}
			all := fmt.Sprint(err, report.RemedyOf(err), recorded.Events())
			if strings.Contains(all, "CANARY") {
				t.Errorf("a secret is printed: %s", all)
			}
			waited, awaited := strings.Contains(all, awaitingServer), strings.Contains(all, awaitingPermission)
			if waited != test.waits || awaited != (test.status == http.StatusForbidden) {
				t.Errorf("events %q", recorded.Events())
			}
		})
	}
}
