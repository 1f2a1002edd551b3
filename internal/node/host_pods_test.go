// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// newServedNode returns a Node whose API server responds with these objects by
// path, and with 404 for other paths.
func newServedNode(t *testing.T, objects map[string]any) *Node {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if date, set := objects["date"].(time.Time); set {
			w.Header().Set("Date", date.UTC().Format(http.TimeFormat))
		}
		object, found := objects[request.URL.Path]
		if !found {
			w.WriteHeader(http.StatusNotFound)
			object = metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
				Status:   metav1.StatusFailure,
				Reason:   metav1.StatusReasonNotFound,
				Code:     http.StatusNotFound,
			}
		}
		if err := json.NewEncoder(w).Encode(object); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	connection, err := kube.Connect(
		&rest.Config{
			Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true},
			ContentConfig: rest.ContentConfig{ContentType: "application/json"},
		},
		func(*http.Request) (*url.URL, error) { return nil, nil }) //nolint:nilnil // no proxy
	if err != nil {
		t.Fatal(err)
	}
	return &Node{Name: "worker-1", BootID: "this", Conn: connection}
}

const nodePath, podsPath = "/api/v1/nodes/worker-1", "/api/v1/pods"

// For a Ready Node, findings include the pods that the host needs and no
// user's.
func TestFindingsOfReadyNodeIncludeHostPods(t *testing.T) {
	unpullable := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason:  "ImagePullBackOff",
		Message: "manifest unknown",
	}}
	creating := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	owned := func(pod *corev1.Pod, kind string) *corev1.Pod {
		yes := true
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1",
			Kind:       kind,
			Name:       "owner",
			UID:        "1",
			Controller: &yes,
		}}
		return pod
	}
	static := podOf("kube-system", "kube-apiserver-proxy-worker-1", true, unpullable)
	static.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"static": {static, true},
		"DaemonSet of Kubernetes": {owned(podOf("kube-system", "konnectivity-agent-x", true, unpullable),
			"DaemonSet"), true},
		"DaemonSet of OpenShift": {owned(podOf("openshift-dns", "dns-default-x", false, unpullable),
			"DaemonSet"), true},
		"another network plugin": {owned(podOf("calico-system", "calico-node-x", true, unpullable),
			"DaemonSet"), true},
		"DaemonSet that starts": {owned(podOf("openshift-dns", "dns-default-x", false, creating),
			"DaemonSet"), false},
		"Deployment of OpenShift": {owned(podOf("openshift-console", "console-x", false, unpullable),
			"ReplicaSet"), false},
		"DaemonSet of a user":              {owned(podOf("team", "agent-x", true, unpullable), "DaemonSet"), false},
		"pod of a user in the host's ways": {podOf("team", "debug", true, unpullable), false},
	} {
		t.Run(name, func(t *testing.T) {
			node := newServedNode(t, map[string]any{
				nodePath: nodeWith("True", "KubeletReady",
					""), podsPath: corev1.PodList{Items: []corev1.Pod{*test.pod}},
			})
			var got, want []string
			found, err := node.Findings(t.Context())
			for _, f := range found {
				got = append(got, string(f.Severity)+" "+f.Message)
			}
			if test.want {
				want = []string{"warning pod " + test.pod.Namespace + "/" + test.pod.Name +
					" is not ready: image quay.io/a/b:1 cannot be pulled: quay.io does not have it"}
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// A registry without a credential on the node is reported for pods of users too.
func TestFindingsOfReadyNodeIncludeMissingCredentials(t *testing.T) {
	rejected := corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "unauthorized"},
	}
	node := newServedNode(t, map[string]any{
		nodePath: nodeWith("True", "KubeletReady", ""),
		podsPath: corev1.PodList{Items: []corev1.Pod{*podOf("team", "app", false, rejected)}},
	})
	node.Host.PullSecret = filepath.Join(t.TempDir(), "config.json")
	for content, want := range map[string]int{
		`{"auths":{"registry.redhat.io":{}}}`: 1,
		`{"auths":{"quay.io":{}}}`:            0,
	} {
		if err := os.WriteFile(node.Host.PullSecret, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := node.Findings(t.Context())
		if err != nil || len(found) != want || (want == 1 && found[0].Reason != report.RegistryCredentialMissing) {
			t.Errorf("pull secret %s: %+v, %v", content, found, err)
		}
	}
}

// A clock that jumps does not make the Node NotReady, but breaks certificates later.
func TestFindingsOfReadyNodeIncludeTheClock(t *testing.T) {
	node := newServedNode(t, map[string]any{
		"date": time.Now().Add(time.Hour), nodePath: nodeWith("True", "KubeletReady", ""), podsPath: corev1.PodList{},
	})
	found, err := node.Findings(t.Context())
	if err != nil || len(found) != 1 || found[0].Reason != report.ClockSkew {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestFindingsOfReadyNodeWithUnknownPods(t *testing.T) {
	found, err := newServedNode(t, map[string]any{nodePath: nodeWith("True", "KubeletReady", "")}).Findings(t.Context())
	if err != nil || len(found) != 1 || !found[0].Incomplete || found[0].Subject != "the pods of this node" {
		t.Errorf("%+v, %v", found, err)
	}
}

// A Node that existed before was deleted; one that never existed is awaited.
func TestFindingsDistinguishDeletedFromAwaitedNode(t *testing.T) {
	for registered, want := range map[bool]string{
		true:  "Node worker-1 was deleted from the cluster",
		false: "kubelet has not registered Node worker-1 yet",
	} {
		node := newServedNode(t, map[string]any{podsPath: corev1.PodList{}})
		node.Registered = registered
		found, err := node.Findings(t.Context())
		if err != nil ||
			!slices.ContainsFunc(found, func(f report.Finding) bool { return strings.HasPrefix(f.Message, want) }) {
			t.Errorf("registered %t: %+v, %v", registered, found, err)
		}
		if exists, err := node.Exists(t.Context()); exists || err != nil {
			t.Errorf("exists %t, %v", exists, err)
		}
	}
	if exists, err := newServedNode(t,
		map[string]any{nodePath: nodeWith("True", "KubeletReady", "")}).Exists(t.Context()); !exists || err != nil {
		t.Errorf("exists %t, %v", exists, err)
	}
}
