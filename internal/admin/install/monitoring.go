// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// monitoringAPI is the API of the Prometheus Operator.
var monitoringAPI = schema.GroupVersion{Group: "monitoring.coreos.com", Version: "v1"}

// checkMonitoring returns an error if the cluster that runs the controller has no Prometheus Operator.
func checkMonitoring(ctx context.Context, in *cluster.Cluster) error {
	isServed, err := in.Serves(ctx, monitoringAPI.Group, monitoringAPI.Version)
	if err != nil || isServed {
		return err
	}
	return report.Fail(report.Refused, "# install the Prometheus Operator, or omit --monitoring",
		"the %s cluster %s has no Prometheus Operator: it does not serve %s", in.Place, in.Server, monitoringAPI)
}

// isMonitored reports whether the controller has a PodMonitor, by which the Prometheus Operator finds its metrics.
func isMonitored(ctx context.Context, in *cluster.Cluster, namespace string) (bool, error) {
	isServed, err := in.Serves(ctx, monitoringAPI.Group, monitoringAPI.Version)
	if err != nil || !isServed {
		return false, err
	}
	monitor := newObject(monitoringAPI.String(), "PodMonitor", namespace, controllerName)
	return in.Find(ctx, client.ObjectKeyFromObject(monitor), monitor)
}

// stopMonitoring deletes the objects of the monitoring in a cluster. The dashboard of a management cluster remains,
// because the controllers of all hosted clusters share it.
func (i *Installer) stopMonitoring(ctx context.Context, in *cluster.Cluster) error {
	exists, err := isMonitored(ctx, in, i.namespaceIn(in.Place))
	if err != nil || !exists {
		return err
	}
	objects, err := Settings{In: in.Place, Namespace: i.Namespace}.MonitoringObjects()
	if err != nil {
		return err
	}
	return i.applierFor(in).deleteAll(ctx, objects, func(object *unstructured.Unstructured) bool {
		return object.GetKind() == "ConfigMap" && in.Place == cluster.Management
	})
}
