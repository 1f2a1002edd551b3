// SPDX-License-Identifier: Apache-2.0

package node

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// withRootCAs lets a pod mount the CAs of the API server, as the service account admission does.
func withRootCAs(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "ca", VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
			ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: rootCAConfigMap}},
		}}},
	}})
	return pod
}

// publishedCAs is the bundle of CAs in a namespace, and the version of its ConfigMap.
type publishedCAs struct {
	bundle  string
	version string
}

// served returns the paths and objects of an API server with these bundles by namespace, each with a pod that
// mounts it.
func served(bundles map[string]publishedCAs) map[string]any {
	objects := map[string]any{}
	var pods corev1.PodList
	for namespace, cas := range bundles {
		pods.Items = append(pods.Items, *withRootCAs(podOf(namespace, "a", true, corev1.ContainerState{})))
		objects["/api/v1/namespaces/"+namespace+"/configmaps/"+rootCAConfigMap] = corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{UID: types.UID("uid-of-" + namespace), ResourceVersion: cas.version},
			Data:       map[string]string{"ca.crt": cas.bundle},
		}
	}
	objects[podsPath] = pods
	return objects
}

// Only CAs from namespaces that users cannot change count, and all of those namespaces must agree, because
// service accounts of operators can change them.
func TestCompareCAs(t *testing.T) {
	own, added := string(certtest.NewCA(t, "own").PEM), string(certtest.NewCA(t, "added").PEM)
	rogue := publishedCAs{own + string(certtest.NewCA(t, "rogue").PEM), "9"}
	before, after := publishedCAs{own, "1"}, publishedCAs{own + added, "2"}
	for name, test := range map[string]struct {
		bundles map[string]publishedCAs
		version string // "" if no CA is missing
	}{
		"no pod":               {nil, ""},
		"no new CA":            {map[string]publishedCAs{"openshift-dns": before}, ""},
		"a namespace of users": {map[string]publishedCAs{"tenant": after}, ""},
		"another prefix": {
			map[string]publishedCAs{"openshift": after, "my-openshift-dns": after, "kube-public": after}, "",
		},
		"one namespace": {
			map[string]publishedCAs{"openshift-dns": after, "tenant": rogue}, "openshift-dns/uid-of-openshift-dns/2\n",
		},
		"two namespaces": {
			map[string]publishedCAs{"openshift-ovn": {after.bundle, "3"}, "openshift-dns": after},
			"openshift-dns/uid-of-openshift-dns/2\nopenshift-ovn/uid-of-openshift-ovn/3\n",
		},
		"one of two is changed": {map[string]publishedCAs{"openshift-a": rogue, "openshift-b": before}, ""},
		"the other is changed":  {map[string]publishedCAs{"openshift-a": before, "openshift-b": rogue}, ""},
		"both differ":           {map[string]publishedCAs{"openshift-a": after, "openshift-b": rogue}, ""},
		"kube-system": {
			map[string]publishedCAs{"kube-system": after, "openshift-a": rogue}, "kube-system/uid-of-kube-system/2\n",
		},
		"kube-system is current": {map[string]publishedCAs{"kube-system": before, "openshift-a": rogue}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			missing, err := newServedNode(t, served(test.bundles)).CompareCAs(t.Context(), kube.Cluster{CA: []byte(own)})
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if test.version != "" {
				want = added
			}
			if got := string(kube.EncodeCertificates(missing.Missing)); missing.Version != test.version || got != want {
				t.Errorf("version %q with\n%s\nwant version %q with\n%s", missing.Version, got, test.version, want)
			}
		})
	}
}

// A pod that was deleted since the list may no longer be read for its CAs.
func TestCompareCAsOfDeletedPods(t *testing.T) {
	own, added := certtest.NewCA(t, "own").PEM, certtest.NewCA(t, "added").PEM
	objects := served(map[string]publishedCAs{"openshift-a": {"", "1"}, "openshift-b": {string(added), "2"}})
	delete(objects, "/api/v1/namespaces/openshift-a/configmaps/"+rootCAConfigMap)
	missing, err := newServedNode(t, objects).CompareCAs(t.Context(), kube.Cluster{CA: own})
	if err != nil || !slices.Equal(kube.EncodeCertificates(missing.Missing), added) {
		t.Errorf("%+v, %v", missing, err)
	}
}

// A CA that the cluster does not publish any more is obsolete, unless it was only reissued. An empty bundle is an
// error.
func TestObsoleteCAs(t *testing.T) {
	own, former := certtest.NewCA(t, "own").PEM, certtest.NewCA(t, "former").PEM
	added := certtest.NewCA(t, "added").PEM
	for name, test := range map[string]struct {
		bundle, kubeconfig, want, missing string
		failure                           string
	}{
		"none":                  {bundle: string(own), kubeconfig: string(own)},
		"one":                   {bundle: string(own), kubeconfig: string(former) + string(own), want: string(former)},
		"a rotation":            {string(added), string(own), string(own), string(added), ""},
		"a bundle without a CA": {bundle: "none", kubeconfig: string(own), failure: "reading the cluster's CAs"},
		"an empty bundle":       {kubeconfig: string(own), failure: "reading the cluster's CAs"},
	} {
		node := newServedNode(t, served(map[string]publishedCAs{"openshift-a": {test.bundle, "1"}}))
		got, err := node.CompareCAs(t.Context(), kube.Cluster{CA: []byte(test.kubeconfig)})
		if test.failure != "" {
			if err == nil || !strings.Contains(err.Error(), test.failure) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if obsolete, missing := kube.EncodeCertificates(got.Obsolete), kube.EncodeCertificates(got.Missing); err != nil ||
			string(obsolete) != test.want || string(missing) != test.missing {
			t.Errorf("%s: %v; obsolete\n%s\nmissing\n%s", name, err, obsolete, missing)
		}
	}
}
