// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/controller"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// controllerName is the name of the Deployment, and of all other objects of the controller.
const controllerName = controller.LeaseName

// Annotations of objects on the management cluster.
const (
	// hostedClusterAnnotation is NAMESPACE/NAME of the HostedCluster to which the kubeconfig of a Secret belongs.
	hostedClusterAnnotation = "hcp-node-agent.io/hosted-cluster"
	// kubeconfigAnnotation is a hash of the kubeconfig with which pods have started, which they read only once.
	kubeconfigAnnotation = "hcp-node-agent.io/kubeconfig"
)

// Installer installs the controller of one hosted cluster, or removes it.
type Installer struct {
	Settings

	Management       *cluster.Cluster
	Hosted           *cluster.Cluster // nil if the HostedCluster does not exist, which only Uninstall permits
	HostedKubeconfig []byte           // of Hosted; its credential is not used
	DryRun           bool
	Wait             bool          // until the Deployment is available, and the user data published
	Timeout          time.Duration // of each wait
	Log              report.Log

	changes []Change
}

// Install applies the objects, the hosted cluster's first. It returns what it has done, also after an error.
func (i *Installer) Install(ctx context.Context) ([]Change, error) {
	if err := i.check(ctx); err != nil {
		return nil, err
	}
	hosted := i.applierFor(i.Hosted)
	objects, err := i.Objects(cluster.Hosted)
	if err != nil {
		return i.changes, err
	}
	for _, object := range objects {
		if err := hosted.apply(ctx, object); err != nil {
			return i.changes, err
		}
		if object.GetKind() == "CustomResourceDefinition" && !i.DryRun {
			if err := i.awaitEstablished(ctx, object.GetName()); err != nil {
				return i.changes, err
			}
		}
	}
	if err := i.permitRenewals(ctx); err != nil {
		return i.changes, err
	}
	if i.In == cluster.Management {
		if err := i.installOnManagement(ctx); err != nil {
			return i.changes, err
		}
	}
	if !i.Publish {
		if err := i.stopPublishing(ctx); err != nil {
			return i.changes, err
		}
	}
	if !i.Monitoring {
		if err := i.stopMonitoring(ctx, i.runsIn()); err != nil {
			return i.changes, err
		}
	}
	if !i.Wait || i.DryRun {
		return i.changes, nil
	}
	if err := i.awaitAvailable(ctx, i.runsIn()); err != nil || !i.Publish {
		return i.changes, err
	}
	return i.changes, i.awaitPublished(ctx)
}

// runsIn returns the cluster in which the controller runs.
func (i *Installer) runsIn() *cluster.Cluster {
	if i.In == cluster.Hosted {
		return i.Hosted
	}
	return i.Management
}

// installOnManagement applies the objects of the management cluster, and the Secret with the kubeconfig.
func (i *Installer) installOnManagement(ctx context.Context) error {
	kubeconfig, err := i.controllerKubeconfig(ctx)
	if err != nil {
		return err
	}
	objects, err := i.Objects(cluster.Management)
	if err != nil {
		return err
	}
	management := i.applierFor(i.Management)
	for _, object := range objects {
		switch object.GetKind() {
		case "Namespace":
			isForeign, err := i.isForeignNamespace(ctx)
			if err != nil {
				return err
			}
			if isForeign { // it remains as it is
				i.changes = append(i.changes, changeOf(i.Management, object, Unchanged))
			} else if err := management.apply(ctx, object); err != nil {
				return err
			}
			// Before the Deployment: its pods start when the Secret exists.
			if err := management.apply(ctx, i.kubeconfigSecret(kubeconfig)); err != nil {
				return err
			}
			continue
		case "Deployment":
			sum := sha256.Sum256(kubeconfig)
			err := unstructured.SetNestedField(object.Object, hex.EncodeToString(sum[:8]),
				"spec", "template", "metadata", "annotations", kubeconfigAnnotation)
			if err != nil {
				return err
			}
		}
		if err := management.apply(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// applierFor returns an applier that records the changes of a cluster as those of the installer.
func (i *Installer) applierFor(in *cluster.Cluster) *applier {
	return &applier{Cluster: in, dryRun: i.DryRun, changes: &i.changes, namespaces: map[string]bool{}}
}
