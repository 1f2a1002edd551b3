// SPDX-License-Identifier: Apache-2.0

package nodepool

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	semver "k8s.io/apimachinery/pkg/util/version"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
)

// The annotations of HyperShift that are read.
const (
	configVersionAnnotation   = "hypershift.openshift.io/nodePoolCurrentConfigVersion" // of a NodePool
	tokenTimeAnnotation       = "hypershift.openshift.io/last-token-generation-time"   // of a token Secret
	disableIgnitionAnnotation = "hypershift.openshift.io/disable-ignition-server"      // of a HostedCluster
)

// tokenRotation is the interval at which the ignition server replaces a token. It accepts the replaced token until the
// next rotation (half of ttl in ignition-server/controllers/tokensecret_controller.go).
const tokenRotation = 5*time.Hour + 30*time.Minute

// PlatformNone is the platform of NodePools whose hosts join with user data.
const PlatformNone = "None"

// NodePool has the fields of a NodePool (hypershift.openshift.io/v1beta1) that are read.
type NodePool struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		ClusterName string            `json:"clusterName"`
		Release     Release           `json:"release"`
		Platform    Platform          `json:"platform"`
		Replicas    int               `json:"replicas"`
		AutoScaling *struct{}         `json:"autoScaling"`
		Management  Management        `json:"management"`
		NodeLabels  map[string]string `json:"nodeLabels"`
		Taints      []struct{}        `json:"taints"`

		NodeDrainTimeout        *metav1.Duration `json:"nodeDrainTimeout"`
		NodeVolumeDetachTimeout *metav1.Duration `json:"nodeVolumeDetachTimeout"`
		OSImageStream           struct {
			Name string `json:"name"` // rhel-9 or rhel-10
		} `json:"osImageStream"`
	} `json:"spec"`
	Status struct {
		Version    string             `json:"version"`
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// HostedCluster has the fields of a HostedCluster (hypershift.openshift.io/v1beta1) that are read.
type HostedCluster struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Platform  Platform  `json:"platform"`
		Services  []Service `json:"services"`
		ClusterID string    `json:"clusterID"` // that of the ClusterVersion of the hosted cluster
	} `json:"spec"`
	Status struct {
		Kubeconfig *corev1.LocalObjectReference `json:"kubeconfig"` // Secret with the administrator's kubeconfig

		IgnitionEndpoint string             `json:"ignitionEndpoint"`
		Conditions       []metav1.Condition `json:"conditions"`
		Version          struct {
			Desired struct {
				Version string `json:"version"`
			} `json:"desired"`
			History []Update `json:"history"` // the newest first
		} `json:"version"`
	} `json:"status"`
}

// describeStream returns which stream of the OS image the NodePool has, "" if its release has only one. From OpenShift
// 5.0 on, the default is rhel-10.
func (p *NodePool) describeStream() string {
	const text = "the image of the hosts is of the stream %s: RHEL CoreOS hosts boot it, and hosts that get kubelet and " +
		"CRI-O from the image need this RHEL (%s)"
	release, err := semver.ParseSemantic(p.Status.Version)
	switch {
	case p.Spec.OSImageStream.Name != "":
		return fmt.Sprintf(text, p.Spec.OSImageStream.Name, "spec.osImageStream")
	case err == nil && release.Major() >= 5:
		return fmt.Sprintf(text, "rhel-10", "the default, because spec.osImageStream is not set")
	}
	return ""
}

// ignoredSettings returns the settings of the NodePool that have no effect on platform None.
func (p *NodePool) ignoredSettings() (ignored []string) {
	for _, setting := range []struct {
		name  string
		isSet bool
	}{
		{"spec.replicas", p.Spec.Replicas > 0},
		{"spec.autoScaling", p.Spec.AutoScaling != nil},
		{"spec.nodeLabels", len(p.Spec.NodeLabels) > 0},
		{"spec.taints", len(p.Spec.Taints) > 0},
		{"spec.management.autoRepair", p.Spec.Management.AutoRepair},
		{"spec.nodeVolumeDetachTimeout", p.Spec.NodeVolumeDetachTimeout != nil},
	} {
		if setting.isSet {
			ignored = append(ignored, setting.name)
		}
	}
	return ignored
}

// DrainTimeout returns the maximum time to drain a node, 0 for no limit of the NodePool.
func (p *NodePool) DrainTimeout() time.Duration {
	if p.Spec.NodeDrainTimeout == nil {
		return 0
	}
	return p.Spec.NodeDrainTimeout.Duration
}

// Release is the release of a NodePool.
type Release struct {
	Image string `json:"image"`
}

// Platform is the platform of a NodePool.
type Platform struct {
	Type string `json:"type"`
}

// Management describes how HyperShift upgrades the nodes of a NodePool, on platforms where it does.
type Management struct {
	UpgradeType string `json:"upgradeType"` // Replace or InPlace
	AutoRepair  bool   `json:"autoRepair"`

	InPlace *struct {
		MaxUnavailable *intstr.IntOrString `json:"maxUnavailable"`
	} `json:"inPlace"`
	Replace *struct {
		RollingUpdate *struct {
			MaxUnavailable *intstr.IntOrString `json:"maxUnavailable"`
		} `json:"rollingUpdate"`
	} `json:"replace"`
}

// MaxUnavailable returns the number or percentage of nodes that may be unavailable at a time, "" for the default. Only
// the settings of the upgrade type have a meaning: the API server adds the default of replace to each NodePool.
func (m Management) MaxUnavailable() string {
	switch {
	case m.UpgradeType == "InPlace":
		if m.InPlace != nil && m.InPlace.MaxUnavailable != nil {
			return m.InPlace.MaxUnavailable.String()
		}
	case m.Replace != nil && m.Replace.RollingUpdate != nil && m.Replace.RollingUpdate.MaxUnavailable != nil:
		return m.Replace.RollingUpdate.MaxUnavailable.String()
	}
	return ""
}

// Service is a service of a HostedCluster, and how it is published.
type Service struct {
	Name     string   `json:"service"`
	Strategy Strategy `json:"servicePublishingStrategy"`
}

// Strategy is a way to publish a service.
type Strategy struct {
	Type string `json:"type"`
}

// Update is an update of the control plane's release.
type Update struct {
	State   string `json:"state"`
	Version string `json:"version"`
}

// version returns the release that the control plane runs: during an update, the last one whose rollout completed.
func (h *HostedCluster) version() string {
	history := h.Status.Version.History
	if at := slices.IndexFunc(history, func(u Update) bool { return u.State == "Completed" }); at >= 0 {
		return history[at].Version
	}
	if len(history) > 0 {
		return history[0].Version
	}
	return h.Status.Version.Desired.Version
}

// updating returns the release to which the control plane is updated now, "" if its last update is complete.
func (h *HostedCluster) updating() string {
	if history := h.Status.Version.History; len(history) > 0 && history[0].State != "Completed" {
		return history[0].Version
	}
	return ""
}

// ignitionStrategy returns how the ignition server is published, "" if it is not.
func (h *HostedCluster) ignitionStrategy() string {
	for _, service := range h.Spec.Services {
		if service.Name == "Ignition" {
			return service.Strategy.Type
		}
	}
	return ""
}

// Facts are the facts about a NodePool. They contain the token.
type Facts struct {
	NodePool      NodePool
	HostedCluster *HostedCluster // nil if it does not exist
	UserData      []byte         // nil if its Secret does not exist
	Token         *corev1.Secret // nil if it does not exist

	userData *ignition.UserData // of UserData, nil until it is parsed
}

// String returns the name of the NodePool, so that the token is never printed.
func (f *Facts) String() string { return "NodePool " + f.NodePool.Namespace + "/" + f.NodePool.Name }

// Release returns the version of the NodePool's release, or its image if the version is not known.
func (f *Facts) Release() string {
	return cmp.Or(f.NodePool.Status.Version, f.NodePool.Spec.Release.Image)
}

// ConfigHash returns the hash of the configuration of the user data, "" if it has none. Evaluate must have found no
// problem before.
func (f *Facts) ConfigHash() string { return f.userData.ConfigHash() }

// ControlPlaneNamespace returns the namespace of the hosted control plane of a HostedCluster
// (HostedControlPlaneNamespace in hypershift-operator/controllers/manifests).
func ControlPlaneNamespace(hostedCluster types.NamespacedName) string {
	return hostedCluster.Namespace + "-" + strings.ReplaceAll(hostedCluster.Name, ".", "-")
}

func (f *Facts) controlPlaneNamespace() string {
	return ControlPlaneNamespace(types.NamespacedName{Namespace: f.NodePool.Namespace, Name: f.NodePool.Spec.ClusterName})
}

// secretName returns the name of a Secret of the NodePool's configuration, "" if it has none yet.
func (f *Facts) secretName(prefix string) string {
	version := f.NodePool.Annotations[configVersionAnnotation]
	if version == "" {
		return ""
	}
	return prefix + "-" + f.NodePool.Name + "-" + version
}

// hasToken reports whether the user data contains the token of a key of the token Secret.
func (f *Facts) hasToken(key string) bool {
	token := f.Token.Data[key]
	return len(token) > 0 &&
		f.userData.Headers.Get("Authorization") == "Bearer "+base64.StdEncoding.EncodeToString(token)
}

// Expires returns the time at which the ignition server rejects the token of the user data, or the zero time if it is
// not known. It must be called after Evaluate.
func (f *Facts) Expires() time.Time {
	if f.Token == nil || f.userData == nil {
		return time.Time{}
	}
	generated, err := time.Parse(time.RFC3339Nano, f.Token.Annotations[tokenTimeAnnotation])
	switch {
	case err != nil:
		return time.Time{}
	case f.hasToken("token"):
		return generated.Add(2 * tokenRotation)
	}
	return generated.Add(tokenRotation)
}
