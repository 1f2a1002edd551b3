// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
)

// memoryDir is the directory of what simulated nodes write durably. Real nodes do not share a disk.
const memoryDir = "/dev/shm"

// fleet is a cluster with simulated nodes, and the controller.
type fleet struct {
	settings settings
	dir      string
	plane    *bed.ControlPlane

	tree     *hostfs.Tree
	admin    kubernetes.Interface
	objects  client.WithWatch // with the credential of the administrator
	requests *requestCounter
	agents   *countingProxy
	kubelets *countingProxy
	observer *observer
	replicas []*replica

	bootstrap           *kube.Client // with the stolen bootstrap credential
	bootstrapKubeconfig []byte       // of the agents
	caHashes            []enrollment.Hash
	nodes               []*node
	records             []*v1alpha1.NodeEnrollment

	mu      sync.Mutex
	hostile sets.Set[string] // names of the CSRs that must not be approved
}

// openFleet starts a cluster and what observes it. The returned function removes everything.
func openFleet(ctx context.Context, s settings, requests *requestCounter) (f *fleet, closing func() error, err error) {
	f = &fleet{settings: s, requests: requests, hostile: sets.New[string]()}
	var closers []func() error
	closing = func() error {
		var errs []error
		for i := len(closers) - 1; i >= 0; i-- {
			errs = append(errs, closers[i]())
		}
		return errors.Join(errs...)
	}
	if f.dir, err = os.MkdirTemp(memoryDir, "fleet-"); err != nil {
		return f, closing, fmt.Errorf("creating a directory: %w", err)
	}
	closers = append(closers, func() error { return os.RemoveAll(f.dir) })
	if f.plane, err = bed.Start(ctx, bed.Options{Dir: filepath.Join(f.dir, "plane")}); err != nil {
		return f, closing, err
	}
	closers = append(closers, f.plane.Close)
	if f.tree, err = hostfs.OpenTree("/"); err != nil {
		return f, closing, err
	}
	closers = append(closers, f.tree.Close)
	for _, proxy := range []**countingProxy{&f.agents, &f.kubelets} {
		if *proxy, err = newCountingProxy(f.plane.APIForward); err != nil {
			return f, closing, err
		}
		closers = append(closers, (*proxy).listener.Close)
	}
	if err := f.connect(); err != nil {
		return f, closing, err
	}
	for _, file := range []string{"namespace.yaml", "crd.yaml", "rbac.yaml"} {
		if err := rights.Grant(ctx, f.admin, filepath.Join("hosted-base", file)); err != nil {
			return f, closing, err
		}
	}
	observing, stop := context.WithCancel(ctx)
	closers = append(closers, func() error { stop(); return nil })
	f.observer, err = startObserver(observing, f.objects)
	return f, closing, err
}

// connect prepares the clients of the administrator and of a thief.
func (f *fleet) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", f.plane.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	config.QPS = -1
	if f.admin, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("preparing the administrator's client: %w", err)
	}
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(corev1.AddToScheme, rbacv1.AddToScheme, certificatesv1.AddToScheme,
		v1alpha1.AddToScheme)
	if err := builder.AddToScheme(scheme); err != nil {
		return err
	}
	if f.objects, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("preparing the administrator's client: %w", err)
	}
	if f.bootstrapKubeconfig, err = withServer(f.plane.BootstrapKubeconfig, f.agents.server()); err != nil {
		return err
	}
	stolen, err := withServer(f.plane.BootstrapKubeconfig, "https://"+f.plane.APIForward)
	if err != nil {
		return err
	}
	if config, err = clientcmd.RESTConfigFromKubeConfig(stolen); err != nil {
		return fmt.Errorf("reading the bootstrap kubeconfig: %w", err)
	}
	f.bootstrap, err = kube.NewClient(config)
	return err
}

// withServer returns a kubeconfig with another server.
func withServer(path, server string) ([]byte, error) {
	file, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the bootstrap kubeconfig: %w", err)
	}
	for _, cluster := range file.Clusters {
		cluster.Server = server
	}
	return clientcmd.Write(*file)
}

// addNodes creates the nodes and their join tokens.
func (f *fleet) addNodes(count int) error {
	ca, err := os.ReadFile(f.plane.ClusterCA)
	if err != nil {
		return fmt.Errorf("reading the cluster's CA: %w", err)
	}
	if f.caHashes, err = enrollment.CAHashes(ca); err != nil {
		return err
	}
	for index := range count {
		n, object, err := f.newNode(index, ca)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(n.dir, 0o700); err != nil {
			return fmt.Errorf("creating a directory: %w", err)
		}
		f.nodes, f.records = append(f.nodes, n), append(f.records, object)
	}
	return nil
}

// each calls do with each node, at most limit at a time. It returns all errors.
func (f *fleet) each(limit int, do func(index int, n *node) error) error {
	slots := make(chan struct{}, limit)
	errs := make([]error, len(f.nodes))
	var running sync.WaitGroup
	for index, n := range f.nodes {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			if err := do(index, n); err != nil {
				errs[index] = fmt.Errorf("%s: %w", n.name, err)
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// sleep waits for a duration. It returns an error if ctx ends before.
func sleep(ctx context.Context, duration time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(duration):
		return nil
	}
}
