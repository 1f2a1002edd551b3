// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"net"

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

func (cluster *Cluster) startAPIServer(_ context.Context, c Config) error {
	if err := c.Group.Start("etcd", c.bin("etcd"), c.etcdFlags()...); err != nil {
		return err
	}
	return c.Group.Start("kube-apiserver", c.bin("kube-apiserver"), c.apiserverFlags()...)
}

func (cluster *Cluster) startControllers(_ context.Context, c Config) error {
	if err := c.Group.Start("kube-controller-manager", c.bin("kube-controller-manager"), c.controllerManagerFlags()...); err != nil {
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
