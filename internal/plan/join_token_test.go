// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

func TestJoinTokenOfAnotherNodeOrClusterIsRefused(t *testing.T) {
	ca := certtest.NewCA(t, "ca").PEM
	good, err := enrollment.ParseToken(flowtest.EncodeJoinToken(t, ca, nil, 0))
	if err != nil {
		t.Fatal(err)
	}
	old, err := enrollment.ParseToken(flowtest.EncodeJoinToken(t, ca, nil, 2*time.Hour))
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
		"fits": {good, "worker-7", ca, "", ""},
		"none": {nil, "worker-8", ca, "", ""},
		"another node": {
			good, "worker-8", ca, "is for node worker-7, but this node is worker-8", "hostnamectl set-hostname worker-7",
		},
		"another cluster": {
			good, "worker-7", certtest.NewCA(t, "ca").PEM,
			"is not valid for https://api.example.com:6443: join token " + good.ID + " is for another cluster",
			"hcp-node-admin enroll",
		},
	} {
		err := checkJoinToken(test.token, test.node, kube.Cluster{Server: "https://api.example.com:6443", CA: test.ca})
		if (err == nil) != (test.want == "") || (err != nil &&
			(!strings.Contains(err.Error(), test.want) || report.CodeOf(err) != report.Refused ||
				!strings.Contains(string(report.RemedyOf(err)), test.remedy))) {
			t.Errorf("%s: %v, code %d, remedy %q", name, err, report.CodeOf(err), report.RemedyOf(err))
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	annotate := func(of *enrollment.Token) (map[string]string, error) {
		run := &Run{Request: request.Request{JoinToken: of}, State: joinstate.State{APIServerCA: ca}}
		return run.csrAnnotations()(&key.PublicKey)
	}
	if proof, err := annotate(good); err != nil || proof[enrollment.AnnotationID] != good.ID {
		t.Errorf("proof %v, %v", proof, err)
	}
	if _, err := annotate(old); report.CodeOf(err) != report.CredentialRefused ||
		!strings.Contains(err.Error(), "; this host's clock: ") {
		t.Errorf("expired: %v", err)
	}
	if (&Run{}).csrAnnotations() != nil {
		t.Error("a join without a token annotates")
	}
}
