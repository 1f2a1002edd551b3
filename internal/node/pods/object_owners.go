// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// objectOwner describes the owner of an object and how to check that owner.
// $NAMESPACE and $NAME stand for the object's.
type objectOwner struct {
	kind, namespace, name string // an empty namespace or name matches any
	description           string
	remedy                report.Remedy
}

// objectOwners returns the owners of objects for which nodes have waited: from
// openshift/origin's table of certificates (tls/ownership),
// cluster-network-operator's bindata, and HyperShift's manifests.
func objectOwners() []objectOwner {
	serviceCA := func(namespace, name, service string) objectOwner {
		return objectOwner{
			kind:      "Secret",
			namespace: namespace,
			name:      name,
			description: "the service-ca operator creates it for Service " + service + "; its pods run on the " +
				"cluster's nodes, so at least one node must be Ready",
			remedy: report.Remedy("oc -n openshift-service-ca-operator get pods; oc -n openshift-service-ca get " +
				"pods; oc -n " +
				namespace + " describe service " + service),
		}
	}
	return []objectOwner{
		// Field report: a node stayed NotReady until its metrics certificates
		// existed.
		serviceCA("openshift-ovn-kubernetes", "ovn-node-metrics-cert", "ovn-kubernetes-node"),
		{
			kind:      "Secret",
			namespace: "openshift-ovn-kubernetes",
			name:      "ovn-control-plane-metrics-cert",
			description: "the service-ca operator creates it for Service ovn-kubernetes-control-plane; for a " +
				"hosted cluster the control plane operator does, in the hosted control plane's namespace of the " +
				"management cluster",
			remedy: "oc -n HCP_NAMESPACE get secret ovn-control-plane-metrics-cert # on the management cluster",
		},
		serviceCA("openshift-multus", "metrics-daemon-secret", "network-metrics-service"),
		serviceCA("openshift-dns", "dns-default-metrics-tls", "dns-default"),
		serviceCA("openshift-monitoring", "node-exporter-tls", "node-exporter"),
		serviceCA("openshift-image-registry", "image-registry-tls", "image-registry"),
		serviceCA("openshift-ingress", "router-metrics-certs-default", "router-internal-default"),
		serviceCA("openshift-machine-config-operator", "proxy-tls", "machine-config-daemon"),
		{
			kind:        "Secret",
			namespace:   "openshift-ovn-kubernetes",
			name:        "ovn-cert",
			description: "the network operator creates it",
			remedy:      "oc get clusteroperator network; oc -n openshift-network-operator get pods",
		},
		{
			kind:        "Secret",
			namespace:   "openshift-ingress",
			name:        "router-certs-default",
			description: "the ingress operator creates it",
			remedy:      "oc get clusteroperator ingress",
		},
		{
			kind:        "Secret",
			namespace:   "kube-system",
			name:        "konnectivity-agent",
			description: "HyperShift's hosted-cluster-config-operator copies it from the management cluster",
			remedy: "oc -n HCP_NAMESPACE get pods -l app=hosted-cluster-config-operator # on the management " +
				"cluster",
		},
		{
			kind:        "ConfigMap",
			name:        "kube-root-ca.crt",
			description: "the kube-controller-manager creates it in every namespace",
			remedy:      "oc -n HCP_NAMESPACE get pods -l app=kube-controller-manager # on the management cluster",
		},
		{
			kind:        "ConfigMap",
			name:        "openshift-service-ca.crt",
			description: "OpenShift's kube-controller-manager creates it in every namespace",
			remedy:      "oc -n HCP_NAMESPACE get pods -l app=kube-controller-manager # on the management cluster",
		},
		{
			kind:        "ConfigMap",
			namespace:   "openshift-ovn-kubernetes",
			description: "the network operator creates it",
			remedy:      "oc get clusteroperator network; oc -n openshift-network-operator get pods",
		},
		{
			kind:        "ConfigMap",
			namespace:   "openshift-multus",
			description: "the network operator creates it",
			remedy:      "oc get clusteroperator network; oc -n openshift-network-operator get pods",
		},
		{
			kind:        "ConfigMap",
			namespace:   "openshift-dns",
			name:        "dns-default",
			description: "the DNS operator creates it",
			remedy:      "oc get clusteroperator dns",
		},
	}
}

// ownerOf returns the owner of an object, and how to check it. who is "" if the
// owner is unknown.
func ownerOf(r Reference) (who string, remedy report.Remedy) {
	for _, m := range objectOwners() {
		if m.kind == r.Kind && (m.namespace == "" || m.namespace == r.Namespace) && (m.name == "" || m.name == r.Name) {
			return m.description, m.remedy
		}
	}
	if r.Kind == "Secret" && strings.HasPrefix(r.Namespace, "openshift-") &&
		(strings.HasSuffix(r.Name, "-tls") || strings.HasSuffix(r.Name, "-cert")) {
		return "most certificates of this kind are created by the service-ca operator, for the Service whose " +
				"annotation names them",
			report.Remedy("oc -n " + r.Namespace + " get services -o yaml | grep serving-cert-secret-name; oc -n " +
				"openshift-service-ca get pods")
	}
	return "", report.Remedyf("oc -n %s get %s %s", r.Namespace, strings.ToLower(r.Kind), r.Name)
}
