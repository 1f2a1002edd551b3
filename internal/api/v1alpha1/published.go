// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespace is the namespace of a hosted cluster with the controller, the published user data, and the ServiceAccounts
// of enrollments.
const Namespace = "hcp-node-admin"

// ControllerName is the name of the objects of the controller, and of the Lease that its working replica holds.
const ControllerName = "hcp-node-admin-controller"

// EventSource is the source of the Events of the controller.
const EventSource = "hcp-node-admin"

// LabelVersion is the label of the Lease with the version of the replica that holds it.
const LabelVersion = "app.kubernetes.io/version"

// UserDataKey is the key of a published Secret with the user data.
const UserDataKey = "user-data.ign"

// LabelNodePool is the label of a published Secret, and of what permits to get it, with NodePoolLabel of its NodePool.
const LabelNodePool = "hcp-node-agent.io/nodepool"

// Label of a Secret that a publisher has created. A publisher does not change other Secrets.
const (
	LabelManagedBy     = "app.kubernetes.io/managed-by"
	ManagedByPublisher = "hcp-node-admin-publisher"
)

// UserDataSecret returns the name of the Secret with the published user data of a NodePool. A Role and a RoleBinding of
// this name permit its nodes to get the Secret. The names of further RoleBindings have a colon and a number at the end.
func UserDataSecret(nodePool string) string { return "user-data-" + nodePool }

// maxLabelLength is the limit of label values, which names of NodePools can exceed.
const maxLabelLength = 63

// NodePoolLabel returns the value of LabelNodePool: the name of the NodePool, or its beginning and a hash if it is too
// long for a label.
func NodePoolLabel(nodePool string) string {
	if len(nodePool) <= maxLabelLength {
		return nodePool
	}
	sum := sha256.Sum256([]byte(nodePool))
	hash := hex.EncodeToString(sum[:8])
	return strings.TrimRight(nodePool[:maxLabelLength-1-len(hash)], ".-") + "-" + hash
}

// PublishedNodePool returns the NodePool of a published Secret, or of what permits to get it. It returns "" for an
// object without the label, or whose name is that of another NodePool.
func PublishedNodePool(object metav1.Object) string {
	name, _, _ := strings.Cut(object.GetName(), ":")
	nodePool, hasPrefix := strings.CutPrefix(name, UserDataSecret(""))
	if label := object.GetLabels()[LabelNodePool]; !hasPrefix || label == "" || label != NodePoolLabel(nodePool) {
		return ""
	}
	return nodePool
}

// ServiceAccount returns the name of the ServiceAccount with which the host of an enrollment gets the user data before
// it has joined.
func ServiceAccount(node string) string { return "node-" + node }

// Annotations of the Secret with the user data of a NodePool.
const (
	AnnotationPoolConfig         = "hcp-node-agent.io/config"          // TargetConfigVersionHash of the NodePool
	AnnotationPoolRelease        = "hcp-node-agent.io/release"         // OpenShift release of the NodePool
	AnnotationPoolMaxUnavailable = "hcp-node-agent.io/max-unavailable" // number or percentage
	AnnotationPoolDrainTimeout   = "hcp-node-agent.io/drain-timeout"   // of an upgrade, if the NodePool limits it
	AnnotationPoolPaused         = "hcp-node-agent.io/paused"          // why the NodePool is paused, if it is
	AnnotationPoolExpires        = "hcp-node-agent.io/expires"         // end of the token's validity, if it is known
	AnnotationPoolProblem        = "hcp-node-agent.io/problem"         // why newer user data is not published
)

// PublishedState describes the user data of a NodePool that a publisher has written to a Secret, in annotations of the
// Secret. The controller reads them: it never reads the user data itself.
//
// +kubebuilder:object:generate=false
type PublishedState struct {
	Config         string
	Release        string
	MaxUnavailable string        // a number or percentage
	DrainTimeout   time.Duration // of an upgrade, 0 for the agent's default
	Paused         string
	Expires        time.Time // zero if it is unknown
	Problem        string
}

// StateOfPublished returns the state of a published Secret. An expiry that is not valid is unknown, and a timeout that
// is not positive is the default.
func StateOfPublished(secret metav1.Object) PublishedState {
	annotations := secret.GetAnnotations()
	expires, err := time.Parse(time.RFC3339, annotations[AnnotationPoolExpires])
	if err != nil {
		expires = time.Time{}
	}
	drainTimeout, err := time.ParseDuration(annotations[AnnotationPoolDrainTimeout])
	if err != nil {
		drainTimeout = 0
	}
	return PublishedState{
		Config: annotations[AnnotationPoolConfig], Release: annotations[AnnotationPoolRelease],
		MaxUnavailable: annotations[AnnotationPoolMaxUnavailable], Paused: annotations[AnnotationPoolPaused],
		DrainTimeout: max(drainTimeout, 0), Expires: expires, Problem: annotations[AnnotationPoolProblem],
	}
}

// WriteTo sets the annotations of a Secret. Those of fields that are empty are removed, and others remain.
func (s PublishedState) WriteTo(secret metav1.Object) {
	expires := ""
	if !s.Expires.IsZero() {
		expires = s.Expires.UTC().Format(time.RFC3339)
	}
	drainTimeout := ""
	if s.DrainTimeout > 0 {
		drainTimeout = s.DrainTimeout.String()
	}
	annotations := map[string]string{}
	maps.Copy(annotations, secret.GetAnnotations())
	for key, value := range map[string]string{
		AnnotationPoolConfig: s.Config, AnnotationPoolRelease: s.Release, AnnotationPoolMaxUnavailable: s.MaxUnavailable,
		AnnotationPoolDrainTimeout: drainTimeout, AnnotationPoolPaused: s.Paused, AnnotationPoolExpires: expires,
		AnnotationPoolProblem: s.Problem,
	} {
		if delete(annotations, key); value != "" {
			annotations[key] = value
		}
	}
	secret.SetAnnotations(annotations)
}
