// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"slices"

	"k8s.io/client-go/kubernetes"
)

// Cluster is a running control plane. Kubeconfigs and certificates are paths.
type Cluster struct {
	Client kubernetes.Interface // with the administrator's permissions
	// Version is the version of the API server.
	Version string

	AdminKubeconfig     string // server: the address that Forward returned
	ApproverKubeconfig  string // the same server
	BootstrapKubeconfig string // server: NodeSideServer
	RootCA              string
	KubeletCA           string // the payload's kubelet-ca.crt
	NodeSideServer      string
	APIForward          string

	config Config
}

// Start starts the control plane. It returns when the API server is ready, the controller manager
// and the scheduler are healthy, and the default namespace has its service account.
func Start(ctx context.Context, c Config) (*Cluster, error) {
	cluster := &Cluster{
		AdminKubeconfig:     c.file("admin.kubeconfig"),
		ApproverKubeconfig:  c.file("approver.kubeconfig"),
		BootstrapKubeconfig: c.file("bootstrap.kubeconfig"),
		RootCA:              c.file("root-ca.crt"),
		KubeletCA:           c.file("client-ca.crt"),
		NodeSideServer:      "https://" + net.JoinHostPort(c.APIName, "6443"),
		config:              c,
	}
	if err := cluster.writeIdentities(c); err != nil {
		return nil, err
	}
	for _, phase := range []func(context.Context, Config) error{
		cluster.startAPIServer, cluster.connect, cluster.startControllers, cluster.waitForControllers,
	} {
		if err := phase(ctx, c); err != nil {
			return nil, err
		}
	}
	return cluster, nil
}

const controllerManager = "kube-controller-manager"

// PublishCAs publishes the CA of the API server and more CAs, in PEM, in every ConfigMap kube-root-ca.crt,
// as before the rotation of the CA. It restarts the controller manager if they change.
func (cluster *Cluster) PublishCAs(more []byte) error {
	root, err := os.ReadFile(cluster.RootCA)
	if err != nil {
		return fmt.Errorf("reading the CA of the API server: %w", err)
	}
	published, err := os.ReadFile(cluster.config.file(publishedCAs))
	if err != nil {
		return fmt.Errorf("reading the published CAs: %w", err)
	}
	wanted := slices.Concat(root, more)
	if bytes.Equal(published, wanted) {
		return nil
	}
	if err := cluster.config.write(publishedCAs, wanted); err != nil {
		return fmt.Errorf("writing the published CAs: %w", err)
	}
	return cluster.config.Group.Restart(controllerManager)
}

func (cluster *Cluster) startAPIServer(_ context.Context, c Config) error {
	if err := c.Group.Start("etcd", c.bin("etcd"), c.etcdFlags()...); err != nil {
		return err
	}
	return c.Group.Start("kube-apiserver", c.bin("kube-apiserver"), c.apiserverFlags()...)
}

func (cluster *Cluster) startControllers(_ context.Context, c Config) error {
	if err := c.Group.Start(controllerManager, c.bin("kube-controller-manager"),
		c.controllerManagerFlags()...); err != nil {
		return err
	}
	return c.Group.Start("kube-scheduler", c.bin("kube-scheduler"), c.schedulerFlags()...)
}

// writeIdentities creates all keys and kubeconfigs.
func (cluster *Cluster) writeIdentities(c Config) error {
	ids, err := newIdentities()
	if err != nil {
		return err
	}
	if err := ids.write(c); err != nil {
		return err
	}
	if cluster.APIForward, err = c.Forward(); err != nil {
		return err
	}
	outside, inside := "https://"+cluster.APIForward, "https://"+apiLoopback
	for _, k := range []struct {
		name, server, user string
		groups             []string
	}{
		{"admin", outside, "bed:admin", []string{"system:masters"}},
		{"approver", outside, approverUser, nil},
		{"kcm", inside, "system:kube-controller-manager", nil},
		{"scheduler", inside, "system:kube-scheduler", nil},
		{
			"bootstrap", cluster.NodeSideServer, BootstrapUser,
			[]string{"system:serviceaccounts:" + bootstrapNamespace, "system:serviceaccounts"},
		},
	} {
		content, err := ids.kubeconfig(k.server, k.user, k.groups...)
		if err != nil {
			return err
		}
		if err := c.write(k.name+".kubeconfig", content); err != nil {
			return fmt.Errorf("writing a kubeconfig: %w", err)
		}
	}
	return nil
}
