// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// unpullable returns a pod whose image cannot be pulled.
func unpullable(namespace, image, reason, message string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			Name:  "main",
			Image: image,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}},
	}
}

// A registry that was added to the cluster's pull secret since the join is noticed when the first pod needs it.
func TestMissingCredentials(t *testing.T) {
	const image, rejected = "added.example.com/team/app:1", "unable to retrieve auth token: invalid username/password: " +
		"unauthorized"
	finding := func(registry, pods string) string {
		return "registry " + registry +
			" requires a credential, and this node's pull secret (/var/lib/kubelet/config.json) " +
			"has none for it; pods that cannot pull from it: " + pods
	}
	for name, test := range map[string]struct {
		pods       []*corev1.Pod
		journal    []string
		registries []string
		want       []string
	}{
		"no pod": {registries: []string{"quay.io"}},
		"added registry": {
			pods:       []*corev1.Pod{unpullable("team", image, "ErrImagePull", rejected)},
			registries: []string{"quay.io"},
			want:       []string{finding("added.example.com", "team/p")},
		},
		"during the back-off of an older kubelet": {
			pods:       []*corev1.Pod{unpullable("team", image, "ImagePullBackOff", `Back-off pulling image "`+image+`"`)},
			journal:    []string{`"Failed to pull image" err="rpc error: ` + rejected + `" image="` + image + `"`},
			registries: []string{"quay.io"},
			want:       []string{finding("added.example.com", "team/p")},
		},
		"during the back-off, cause unknown": {
			pods:       []*corev1.Pod{unpullable("team", image, "ImagePullBackOff", `Back-off pulling image "`+image+`"`)},
			registries: []string{"quay.io"},
		},
		"several pods and registries": {
			pods: []*corev1.Pod{
				unpullable("team-b", image, "ErrImagePull", rejected), unpullable("openshift-dns", image, "ErrImagePull", rejected),
				unpullable("team-a", "registry:5000/x", "ErrImagePull", rejected),
			},
			registries: []string{},
			want: []string{
				finding("added.example.com", "openshift-dns/p; team-b/p"),
				finding("registry:5000", "team-a/p"),
			},
		},
		"mirror": {
			pods: []*corev1.Pod{unpullable("team", "quay.io/a/b", "ErrImagePull",
				"(Mirrors also failed: [mirror.example.com/x: pinging container registry mirror.example.com: unauthorized])")},
			registries: []string{"quay.io"},
			want:       []string{finding("mirror.example.com", "team/p")},
		},
		"credential that is rejected": {
			pods:       []*corev1.Pod{unpullable("team", image, "ErrImagePull", rejected)},
			registries: []string{"https://added.example.com/team"},
		},
		"unknown pull secret": {pods: []*corev1.Pod{unpullable("team", image, "ErrImagePull", rejected)}},
		"another cause": {
			pods:       []*corev1.Pod{unpullable("team", image, "ErrImagePull", "manifest unknown")},
			registries: []string{"quay.io"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range MissingCredentials(test.pods, Evidence{Registries: test.registries, KubeletErrors: test.journal}) {
				if f.Severity != report.SeverityNote || f.Reason != report.RegistryCredentialMissing ||
					!strings.HasPrefix(f.Message, f.Subject+" ") ||
					!strings.HasPrefix(string(f.Remedy), "hcp-node-agent upgrade --user-data USER_DATA # ") {
					t.Errorf("%+v", f)
				}
				got = append(got, f.Message)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
