// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Cluster is a connection of an administrator to one of the clusters.
type Cluster struct {
	Conn   *kube.Conn
	name   Place
	client client.Client
}

// Connect prepares a connection to one of the clusters, and sends no request.
func Connect(name Place, config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.Timeout = kube.RequestTimeout
	config.WarningHandler = rest.NoWarnings{} // the default handler logs
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(appsv1.AddToScheme, corev1.AddToScheme)
	utilruntime.Must(builder.AddToScheme(scheme))
	conn, err := kube.Connect(config, nil)
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %w", config.Host, err)
	}
	return &Cluster{Conn: conn, name: name, client: c}, nil
}

// explain returns the error of a request, with a remedy for the administrator.
func (c *Cluster) explain(ctx context.Context, err error, doing string) error {
	var known *report.Failure
	doing = fmt.Sprintf("%s on the %s cluster %s", doing, c.name, c.Conn.Server)
	switch {
	case errors.As(err, &known):
		return err
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return report.Fail(report.Failed, "# run the same command again when the namespace is deleted", "%s: %w", doing, err)
	}
	return c.Conn.RequestFailure(ctx, err, doing, kube.Remedies{
		Credential: report.Remedyf("# use a valid kubeconfig of the %s cluster", c.name),
		Permission: report.Remedyf("# use a kubeconfig of an administrator of the %s cluster", c.name),
	})
}
