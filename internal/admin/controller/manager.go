// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/go-logr/logr"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/csrcache"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/lostnodes"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/metrics"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// LeaseName is the name of the Lease that the working replica holds.
const LeaseName = v1alpha1.ControllerName

// Options configure the controllers.
type Options struct {
	Config         *rest.Config      // of the hosted cluster
	ClusterCA      []enrollment.Hash // of the hosted cluster
	Namespace      string            // of the Lease
	ProbeAddress   string            // of /livez and /readyz; "" for none
	MetricsAddress string            // of /metrics; "" for none
	Logger         logr.Logger
	Version        string // of this program, for the Lease; "" for none
}

// New prepares the controllers. It sends requests only to discover the API.
func New(options Options) (manager.Manager, error) {
	m, err := newManager(options, true)
	if err == nil {
		err = addControllers(m, options.ClusterCA)
	}
	if err != nil {
		return nil, fmt.Errorf("preparing the controllers for %s: %w", options.Config.Host, err)
	}
	return m, nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(corev1.AddToScheme, rbacv1.AddToScheme, certificatesv1.AddToScheme,
		v1alpha1.AddToScheme)
	utilruntime.Must(builder.AddToScheme(scheme))
	return scheme
}

// newManager prepares a manager without controllers.
func newManager(options Options, leaderElection bool) (manager.Manager, error) {
	hasNodePool, err := labels.Parse(v1alpha1.LabelNodePool)
	if err != nil {
		return nil, err
	}
	published := cache.ByObject{
		Namespaces: map[string]cache.Config{v1alpha1.Namespace: {}}, Label: hasNodePool,
	}
	configuration := rest.CopyConfig(options.Config)
	configuration.QPS = -1 // the API server limits the requests: those of a wave of nodes must not wait for each other
	m, err := manager.New(configuration, manager.Options{
		Scheme: newScheme(),
		Logger: options.Logger,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.Node{}: {Transform: shrinkNode},
				&kube.CSR{}:    {Transform: csrcache.Shrink},
				// Only those with user data, and what permits to read them.
				&corev1.Secret{}:      published,
				&rbacv1.Role{}:        published,
				&rbacv1.RoleBinding{}: published,
				&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{v1alpha1.Namespace: {
					FieldSelector: fields.OneTermEqualSelector("metadata.name", lostnodes.ConfigMap),
				}}},
			},
			NewInformer: csrcache.NewInformer,
		},
		Controller: config.Controller{
			SkipNameValidation: ptr.To(true),
			// Its deadlock at the end was fixed after v0.23 (github.com/kubernetes-sigs/controller-runtime/issues/3538).
			UsePriorityQueue: ptr.To(false),
		},
		LeaderElection:                leaderElection,
		LeaderElectionID:              LeaseName,
		LeaderElectionNamespace:       options.Namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaderElectionLabels:          leaseLabels(options.Version),
		Metrics:                       metricsserver.Options{BindAddress: orDisabled(options.MetricsAddress)},
		HealthProbeBindAddress:        orDisabled(options.ProbeAddress),
		LivenessEndpointName:          "/livez",
		GracefulShutdownTimeout:       ptr.To(10 * time.Second),
	})
	if err != nil {
		return nil, err
	}
	return m, addIndexes(m.GetFieldIndexer())
}

// leaseLabels returns the labels of the Lease. A version that is no value of a label would prevent its creation.
func leaseLabels(version string) map[string]string {
	if len(validation.IsValidLabelValue(version)) > 0 {
		return nil
	}
	return map[string]string{v1alpha1.LabelVersion: version}
}

// addIndexes adds the indexes of the cache. Their objects are in the cache of every replica, so that the next leader
// can begin at once.
func addIndexes(indexer client.FieldIndexer) error {
	ctx := context.Background() // only registers the indexes
	csr := &metav1.PartialObjectMetadata{}
	csr.SetGroupVersionKind(certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"))
	return errors.Join(
		indexer.IndexField(ctx, &corev1.Node{}, addressIndex, nodeAddresses),
		indexer.IndexField(ctx, &v1alpha1.NodeEnrollment{}, tokenIndex, tokenOf),
		indexer.IndexField(ctx, &v1alpha1.NodeEnrollment{}, nodePoolIndex, enrolledNodePool),
		indexer.IndexField(ctx, csr, csrTokenIndex, csrToken),
	)
}

func addControllers(m manager.Manager, hashes []enrollment.Hash) error {
	isSynced := func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), time.Second)
		defer cancel()
		if !m.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the cache is not synchronized yet")
		}
		return nil
	}
	metrics.Export(m.GetCache())
	return errors.Join(
		addCSRController(m, hashes), addStatusController(m), addAccessController(m), addRolloutController(m),
		addNodeSettingsController(m), addRemediationController(m), addLostController(m),
		m.AddReadyzCheck("cache", isSynced), m.AddHealthzCheck("ping", healthz.Ping),
	)
}

// orDisabled returns the address of a server, or the value that disables it.
func orDisabled(address string) string {
	if address == "" {
		return "0"
	}
	return address
}

// Indexes of the cache.
const (
	addressIndex  = "status.addresses"
	nodePoolIndex = "spec.nodePool"
	tokenIndex    = "spec.tokenID"
	csrTokenIndex = "metadata.annotations.tokenID"
)

func tokenOf(object client.Object) []string {
	return []string{object.(*v1alpha1.NodeEnrollment).Spec.TokenID}
}

func enrolledNodePool(object client.Object) []string {
	if pool := object.(*v1alpha1.NodeEnrollment).Spec.NodePool; pool != "" {
		return []string{pool}
	}
	return nil
}

func csrToken(object client.Object) []string {
	if id := object.GetAnnotations()[enrollment.AnnotationID]; id != "" {
		return []string{id}
	}
	return nil
}

// nodeAddresses returns the IP addresses of a Node in the form of netip.Addr.String, which differs from that of other
// programs for some addresses.
func nodeAddresses(object client.Object) []string {
	var texts []string
	for _, one := range object.(*corev1.Node).Status.Addresses {
		if address, err := netip.ParseAddr(one.Address); err == nil {
			texts = append(texts, address.Unmap().String())
		}
	}
	return texts
}

// shrinkNode removes from a Node what the controllers do not read, which is most of it.
func shrinkNode(object any) (any, error) {
	if node, isNode := object.(*corev1.Node); isNode {
		node.ManagedFields = slices.DeleteFunc(node.ManagedFields,
			func(entry metav1.ManagedFieldsEntry) bool { return !isLabelEntry(entry) })
		node.Status.Images = nil
		node.Status.VolumesInUse, node.Status.VolumesAttached = nil, nil
		node.Status.Config = nil
	}
	return object, nil
}

// ifUnchanged returns the patch from an object that was read to a changed copy of it. The API server rejects it with a
// conflict if the object has changed since.
func ifUnchanged(object client.Object) client.Patch {
	return client.MergeFromWithOptions(object, client.MergeFromWithOptimisticLock{})
}

// setTime returns a time of a status.
func setTime(t time.Time) *metav1.Time { return ptr.To(metav1.NewTime(t.Truncate(time.Second))) }
