// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/lostnodes"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

const (
	lostDirectory = "hosted-lost" // with the policy about lost nodes
	lostKind      = "ConfigMap"   // of the list of lost nodes
)

var policies = admissionregistrationv1.SchemeGroupVersion.WithResource("validatingadmissionpolicies")

// Times until an API server applies a change of the policy or of the list. It compiles policies each second.
var (
	settleTime     = 3 * time.Second  // of the other replicas, after one refuses the writes
	unverifiedTime = 15 * time.Second // if the credential must not impersonate the node
)

// CheckExclude checks, before the first change of Exclude, that the hosted cluster supports the policy, and that the
// credential has all rights.
func (i *Installer) CheckExclude(ctx context.Context, rights []cluster.Right) error {
	if err := i.Hosted.CheckEnrollmentAPI(ctx); err != nil {
		return err
	}
	isServed, err := i.Hosted.ServesResource(ctx, policies)
	switch {
	case err != nil:
		return err
	case !isServed:
		return report.Fail(report.Refused, "# upgrade the hosted cluster to OpenShift 4.17 or later; until then, remove the "+
			"node without --lost, and delete its Node whenever it exists again", "%s does not serve %s of %s: "+
			"Kubernetes has them from 1.30 on, OpenShift from 4.17 on", i.Hosted.Server, policies.Resource,
			policies.GroupVersion())
	}
	return i.Hosted.CheckRights(ctx, rights)
}

// Exclude makes the API server refuse all writes of nodes: it applies the policy, adds the nodes to the list of lost
// nodes, and waits until the API server applies both. It can be repeated.
func (i *Installer) Exclude(ctx context.Context, nodes []string) error {
	if err := i.applyPolicy(ctx); err != nil {
		return err
	}
	user, err := i.Hosted.User(ctx)
	if err != nil {
		return err
	}
	entry := fmt.Sprintf("removed %s by %s", report.Timestamp(time.Now()), user)
	if err := lostnodes.Add(ctx, i.Hosted, nodes, entry); err != nil {
		return err
	}
	for _, node := range nodes {
		err := i.awaitRefusal(ctx, node)
		if errors.Is(err, errNoImpersonation) {
			i.Log.Warn(fmt.Sprintf("the credential must not impersonate node %s, so that it is not verified that the API "+
				"server refuses its writes", node), "")
			return i.pause(ctx, unverifiedTime)
		}
		if err != nil {
			return err
		}
	}
	return i.pause(ctx, settleTime)
}

// applyPolicy applies the policy and its binding, and creates the namespace of the list if it does not exist.
func (i *Installer) applyPolicy(ctx context.Context) error {
	objects, err := i.read(cluster.Hosted, lostDirectory)
	if err != nil {
		return err
	}
	exists, err := i.Hosted.Find(ctx, client.ObjectKey{Name: v1alpha1.Namespace}, &corev1.Namespace{})
	if err != nil {
		return err
	}
	if !exists {
		namespace, err := readObjects("deploy/hosted-base/namespace.yaml")
		if err != nil {
			return err
		}
		objects = append(namespace, objects...)
	}
	return i.applierFor(i.Hosted).applyAll(ctx, objects)
}

// awaitRefusal waits until the API server refuses the writes of a node.
func (i *Installer) awaitRefusal(ctx context.Context, node string) error {
	remedy := report.Remedyf("oc --kubeconfig hosted.kubeconfig get validatingadmissionpolicy %s -o yaml # the status "+
		"names the problem", lostnodes.Policy)
	return i.await(ctx, i.Hosted, remedy, func(ctx context.Context) (string, error) {
		isRefused, err := refusesWrites(ctx, i.Hosted, node)
		if err != nil || isRefused {
			return "", err
		}
		return "the API server refuses the writes of node " + node, nil
	})
}

// pause waits until the replicas of the API server that were not probed have loaded the policy and the list.
func (i *Installer) pause(ctx context.Context, duration time.Duration) error {
	i.Log.Wait(fmt.Sprintf("waiting %s until each API server of the hosted cluster has loaded the policy", duration), "")
	if wait.Sleep(ctx, duration) != nil {
		return report.Fail(report.Interrupted, "# run the same command again to resume", "interrupted while waiting until "+
			"each API server has loaded the policy")
	}
	return nil
}

var errNoImpersonation = errors.New("the credential must not impersonate a node")

// refusesWrites reports whether the policy about lost nodes refuses a write of a node. It sends a dry run on behalf of
// the node, which creates nothing. It returns errNoImpersonation if the credential does not permit that.
func refusesWrites(ctx context.Context, hosted *cluster.Cluster, node string) (bool, error) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: node}}
	lease.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	body, err := json.Marshal(lease)
	if err != nil {
		return false, err
	}
	path := "/apis/coordination.k8s.io/v1/namespaces/" + lease.Namespace + "/leases"
	_, err = kube.Send(ctx, hosted.REST.Post().AbsPath(path).
		Param("dryRun", metav1.DryRunAll).SetHeader("Content-Type", "application/json").
		SetHeader("Impersonate-User", "system:node:"+node).SetHeader("Impersonate-Group", "system:nodes").Body(body))
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return false, nil
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), lostnodes.Policy):
		return true, nil
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot impersonate"):
		return false, errNoImpersonation
	}
	return false, hosted.Explain(ctx, err, cluster.Request{
		Verb: "create", Group: coordinationv1.GroupName, Kind: "Lease", Namespace: lease.Namespace, Name: node,
	})
}

// remainingLost returns what excludes lost nodes, nothing if there are none. With isDeleted, it returns an error
// instead: without the list, the credentials of the lost hosts are usable again.
func (i *Installer) remainingLost(ctx context.Context, isDeleted bool) ([]Remaining, error) {
	lost, err := lostnodes.Read(ctx, i.Hosted)
	if err != nil || len(lost) == 0 {
		return nil, err
	}
	list := Remaining{Kind: lostKind, Name: lostnodes.ConfigMap, Objects: len(lost)}
	if isDeleted {
		return nil, report.Fail(report.Refused, "# add --force if the certificates of the lost hosts have expired: until "+
			"then, the hosts can create their Nodes again", "the hosted cluster excludes %s, removed as lost, and --crd "+
			"ends that", list.Count())
	}
	return []Remaining{list, {Kind: "ValidatingAdmissionPolicy", Name: lostnodes.Policy}}, nil
}

// removablePolicy returns the objects of the policy about lost nodes, none if they must remain: nodes are lost, and
// withCRD does not delete their list.
func (i *Installer) removablePolicy(ctx context.Context, withCRD bool) ([]*unstructured.Unstructured, error) {
	isServed, err := i.Hosted.ServesResource(ctx, policies)
	if err != nil || !isServed {
		return nil, err
	}
	lost, err := lostnodes.Read(ctx, i.Hosted)
	if err != nil || len(lost) > 0 && !withCRD {
		return nil, err
	}
	return i.read(cluster.Hosted, lostDirectory)
}
