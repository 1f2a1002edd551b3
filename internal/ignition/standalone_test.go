// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// workerUserData returns user data for the pool worker of a server, made of single values.
func (s *ignitionServer) workerUserData(t *testing.T) *UserData {
	t.Helper()
	userData, err := NewUserData(Values{Endpoint: s.URL + "/config/worker", CA: s.ca.PEM})
	if err != nil {
		t.Fatal(err)
	}
	return userData
}

// checkStandalone is checkFailure for a failure that is shown to a standalone cluster.
func checkStandalone(t *testing.T, err error, code report.Code, want, remedy string) {
	t.Helper()
	checkFailure(t, err, code, want)
	reporttest.CheckStandaloneRemedy(t, err, remedy)
}

// A machine-config server gets an Accept header for the newest supported spec, but no token and
// no NodePool.
func TestFetchFromMachineConfigServer(t *testing.T) {
	s := startServer(t, certtest.NewCA(t, "root-ca"), "127.0.0.1",
		respond(http.StatusOK, "application/json", strings.Replace(servedPayload, "3.2.0", "3.4.0", 1)))
	payload, err := Fetcher{}.Fetch(t.Context(), s.workerUserData(t))
	if err != nil || payload.Version != "3.4.0" {
		t.Fatalf("%v, %v", payload, err)
	}
	r := s.recorded()[0]
	if r.Method != http.MethodGet || r.URL.Path != "/config/worker" || r.Header.Get("Accept") != fetch.Accept {
		t.Errorf("it asked %s %s for %q", r.Method, r.URL.Path, r.Header.Get("Accept"))
	}
	for _, name := range []string{"Authorization", "NodePool", "TargetConfigVersionHash"} {
		if r.Header.Get(name) != "" {
			t.Errorf("%s was sent", name)
		}
	}
}

func TestMachineConfigServerStatusIsExplained(t *testing.T) {
	empty := func(status int) http.HandlerFunc { return respond(status, "", "") }
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		code    report.Code
		want    string
		remedy  string
	}{
		"spec 2": {
			respond(http.StatusOK, "application/json", `{"ignition":{"version":"2.2.0"}}`), report.Usage,
			"the server returns Ignition spec 2.2.0, although spec 3 was requested", "curl -ksm 20 -H 'Accept: " + fetch.Accept,
		},
		"no spec at all": {
			respond(http.StatusOK, "application/json", `{}`), report.Usage, "ignition.version is missing",
			"oc get machineconfigpools",
		},
		"a wrong config": {
			respond(http.StatusOK, "application/json", `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"a"}]}}`),
			report.Usage, "path not absolute", "oc get machineconfigs",
		},
		"too new": {
			respond(http.StatusOK, "application/json", `{"ignition":{"version":"3.9.0"}}`), report.Usage,
			"Ignition spec 3.9.0, which is not supported (3.0 to 3.6 are)", "oc get machineconfig",
		},
		"unknown spec": {
			empty(http.StatusBadRequest), report.Refused, "HTTP 400 for the Accept header", "oc get clusterversion",
		},
		"unknown pool": {
			empty(http.StatusInternalServerError), report.Failed, "no configuration for pool worker (HTTP 500)",
			"oc get machineconfigpools",
		},
		"another path": {
			empty(http.StatusNotFound), report.Usage, "the server has no payload at /config/worker (HTTP 404)",
			"https://api-int.CLUSTER_DOMAIN:22623/config/worker",
		},
		"a load balancer": {respondAsHAProxy, report.Failed, "HTTP 503", "machine-config-server"},
		"forbidden":       {empty(http.StatusForbidden), report.Refused, "HTTP 403", "api-int"},
		"a web page": {
			respond(http.StatusOK, "text/html", "<html>log in</html>"), report.Usage,
			"another server than the machine-config server responds", "22623",
		},
		"cut short": {truncatedResponse(true), report.Failed, "the transfer ended", "check the network connection"},
		"silent": {
			closeConnection, report.Failed, "closed the connection", "api-int and port 22623 serve the cluster's own network",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, certtest.NewCA(t, "root-ca"), "127.0.0.1", test.handler)
			_, err := quickFetcher().Fetch(t.Context(), s.workerUserData(t))
			checkStandalone(t, err, test.code, test.want, test.remedy)
		})
	}
}

// An error that can result from mixing up the two kinds of cluster names both.
func TestMachineConfigServerRequiresNoToken(t *testing.T) {
	s := startServer(t, certtest.NewCA(t, "root-ca"), "127.0.0.1",
		respond(http.StatusUnauthorized, "text/plain", "Unauthorized"))
	_, err := quickFetcher().Fetch(t.Context(), s.workerUserData(t))
	checkFailure(t, err, report.CredentialRefused, "which a machine-config server never does")
	for _, want := range []string{"user-data-NODEPOOL-$HASH", "secret worker-user-data"} {
		if !strings.Contains(string(report.RemedyOf(err)), want) {
			t.Errorf("remedy %q lacks %q", report.RemedyOf(err), want)
		}
	}
}

func TestMachineConfigServerIsNotTrusted(t *testing.T) {
	ca := certtest.NewCA(t, "root-ca")
	for name, test := range map[string]struct {
		leaf   tls.Certificate
		want   string
		remedy string
	}{
		"the API server's CA": {
			certtest.NewCA(t, "root-ca").IssueServing(t, "127.0.0.1"), "does not sign the machine-config server",
			"secret worker-user-data",
		},
		"opened on the way": {
			certtest.NewCA(t, "Corporate Proxy CA").IssueServing(t, "127.0.0.1"), "a proxy intercepts TLS", "TLS inspection",
		},
		"the public name": {
			ca.IssueServing(t, "api-int.demo.example.com"), " is valid for api-int.demo.example.com",
			"/config/worker --connect-to",
		},
		"expired": {
			ca.IssueServing(t, "127.0.0.1", validFor(-2*time.Hour, -time.Hour)), " expired at ", "machine-config-server-tls",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServerWith(t, ca, test.leaf, servePayload)
			_, err := quickFetcher().Fetch(t.Context(), s.workerUserData(t))
			checkStandalone(t, err, report.Refused, test.want, test.remedy)
			if len(s.recorded()) > 0 {
				t.Error("a server that is not trusted was asked")
			}
		})
	}
}

// Internal names and ports are the first to fail on a host outside of the cluster's network.
func TestMachineConfigServerIsUnreachable(t *testing.T) {
	userData, err := NewUserData(Values{
		Endpoint: "https://api-int.demo.example.com:22623/config/worker",
		CA:       certtest.NewCA(t, "root-ca").PEM,
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		err    error
		want   string
		remedy string
	}{
		"no such name": {
			&net.DNSError{Err: "no such host", Name: "api-int.demo.example.com", IsNotFound: true},
			"api-int.demo.example.com does not exist", "kubelet requires it too",
		},
		"refused": {
			&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "refused the connection",
			"allow api-int.demo.example.com:22623 for this host",
		},
		"no TLS": {tls.RecordHeaderError{}, "api-int.demo.example.com:22623 does not use TLS", "apiServerInternalURI"},
		"alert": {
			&net.OpError{Op: "remote error", Err: errors.New("handshake failure")}, "refused the TLS handshake",
			"openssl s_client",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := explainedError(userData, test.err)
			checkStandalone(t, e.Failure("fetching payload"), e.Code, test.want, test.remedy)
		})
	}
}

// The user data of a standalone cluster and single values have the same result.
func TestUserDataOfStandaloneCluster(t *testing.T) {
	ca := certtest.NewCA(t, "root-ca").PEM
	const source = "https://api-int.demo.example.com:22623/config/worker"
	file, err := ParseUserData(fmt.Appendf(nil,
		`{"ignition":{"config":{"merge":[{"source":%q}]},"security":{"tls":{"certificateAuthorities":[{"source":"data:text/plain;charset=utf-8;base64,%s"}]}},"version":"3.2.0"}}`,
		source, base64.StdEncoding.EncodeToString(ca)))
	if err != nil {
		t.Fatal(err)
	}
	bare, err := NewUserData(Values{Endpoint: "api-int.demo.example.com:22623", CA: ca})
	if err != nil {
		t.Fatal(err)
	}
	for _, userData := range []*UserData{file, bare} {
		if err := userData.Validate(); err != nil || userData.IsHosted() || userData.HasToken() ||
			userData.Source.String() != source || string(userData.CAs[0]) != string(ca) {
			t.Errorf("%v, hosted: %t, %v", userData, userData.IsHosted(), err)
		}
	}
	_, err = NewUserData(Values{Endpoint: source})
	checkStandalone(t, err, report.Usage, "the CA of the machine-config server", "secret worker-user-data")
	_, err = NewUserData(Values{Endpoint: source, CA: []byte("nothing")})
	checkStandalone(t, err, report.Usage, "reading the CA of the machine-config server", "secret worker-user-data")
}
