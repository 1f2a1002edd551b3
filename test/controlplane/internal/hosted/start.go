// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/admin"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/dnsmasq"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/network"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/registry"
)

const (
	registryPort = "5000"
	// releaseRepository is the repository of all images of a release.
	releaseRepository = "openshift-release-dev/ocp-v4.0-art-dev"
)

// start starts the components. The processes come first, because they take longest.
func (c *ControlPlane) start(ctx context.Context) error {
	if err := c.prepare(); err != nil {
		return err
	}
	err := dnsmasq.Start(c.group, dnsmasq.Config{
		Dir: c.dirs.run, Bridge: bridge, Addresses: c.stack.Bridge,
		Domain: c.domain(), Names: []string{"api", "api-int", "ignition", "registry"},
	})
	if err != nil {
		return err
	}
	c.recordReady("network")
	images, server, err := c.startRegistry()
	if err != nil {
		return err
	}
	c.recordReady("images")
	cluster, err := c.startCluster(ctx)
	if err != nil {
		return err
	}
	operator := network.Operator{Client: cluster.Client, Image: images.network}
	if err := operator.Prepare(ctx); err != nil {
		return err
	}
	if err := operator.Deploy(ctx); err != nil {
		return err
	}
	ignition, userData, err := c.startIgnition(cluster, images)
	if err != nil {
		return err
	}
	if err := c.startMachineConfig(ctx, cluster, images); err != nil {
		return err
	}
	err = c.startAdmin(admin.Server{
		Ignition: ignition,
		UserData: userData,
		Network:  operator,
		Registry: server,
		Cluster:  cluster,
	})
	if err != nil {
		return err
	}
	c.recordReady("ready")
	return nil
}

// images are the pull specs of the images in the registry, and the pull secret.
type images struct {
	pause, workload, network, apiProxy, enter string
	os                                        string
	pullSecret                                string
}

func (c *ControlPlane) startRegistry() (images, *registry.Registry, error) {
	logFile, err := c.log("registry")
	if err != nil {
		return images{}, nil, err
	}
	c.document.Registry = net.JoinHostPort(c.host("registry"), registryPort)
	server := registry.New(c.document.Registry, log.New(logFile, "", log.LstdFlags))
	if err := c.serve(registryPort, server.Serve, server.Close); err != nil {
		return images{}, nil, err
	}
	if c.document.RegistryForward, err = c.forward(registryPort); err != nil {
		return images{}, nil, err
	}
	var out images
	for _, i := range []struct {
		program, path, repository string
		into                      *string
	}{
		{"image-pause", "/usr/bin/pod", releaseRepository, &out.pause},
		{"image-network", "/usr/bin/network", releaseRepository, &out.network},
		{"image-haproxy", "/usr/sbin/haproxy", releaseRepository, &out.apiProxy},
		{"image-enter", "/usr/bin/enter", releaseRepository, &out.enter},
		{"image-workload", "/usr/bin/workload", c.options.Name + "/workload", &out.workload},
	} {
		image := registry.Image{Binary: filepath.Join(c.options.Bin, i.program), Path: i.path}
		if *i.into, err = server.Push(c.document.RegistryForward, i.repository, image); err != nil {
			return images{}, nil, err
		}
	}
	pushed, err := server.Push(c.document.RegistryForward, releaseRepository, osImage())
	if err != nil {
		return images{}, nil, err
	}
	out.os = strings.Replace(pushed, c.document.Registry, "quay.io", 1) // read through a mirror
	c.document.PauseImage, c.document.WorkloadImage, c.document.EnterImage = out.pause, out.workload, out.enter
	if out.pullSecret, err = server.PullSecret(); err != nil {
		return images{}, nil, err
	}
	c.document.PullSecret, err = c.dirs.write("pull-secret.json", []byte(out.pullSecret))
	return out, server, err
}

// osImage returns the OS image of the release with the Kubernetes version of the test environment.
func osImage() registry.OSImage {
	const git = "202510291212.p0.el9"
	return registry.OSImage{Release: "4.21", Packages: []registry.Package{
		{Name: "NetworkManager-ovs", Epoch: "1", Version: "1.52.0", Release: "7.el9_6", Arch: "x86_64"},
		{Name: "bash", Epoch: "0", Version: "5.1.8", Release: "9.el9", Arch: "x86_64"},
		{Name: "conmon-rs", Epoch: "0", Version: "0.7.2", Release: "1.rhaos4.21.el9", Arch: "x86_64"},
		{Name: "cri-o", Epoch: "0", Version: "1.34.0", Release: "2.rhaos4.21.git5b4d5b4.el9", Arch: "x86_64"},
		{Name: "cri-tools", Epoch: "0", Version: "1.34.0", Release: "1.el9", Arch: "x86_64"},
		{Name: "openshift-kubelet", Epoch: "0", Version: "4.21.0", Release: git, Arch: "x86_64"},
		{Name: "openvswitch3.5", Epoch: "0", Version: "3.5.2", Release: "46.el9fdp", Arch: "x86_64"},
		{Name: "redhat-release", Epoch: "0", Version: "9.6", Release: "0.1.el9", Arch: "x86_64"},
	}}
}

func (c *ControlPlane) startCluster(ctx context.Context) (*kube.Cluster, error) {
	dir := c.dirs.file("kube")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the control plane's directory: %w", err)
	}
	cluster, err := kube.Start(ctx, kube.Config{
		Bin:     c.options.Bin,
		Dir:     dir,
		Stack:   c.stack,
		APIName: c.host("api"), InternalName: c.host("api-int"),
		Group:   c.group,
		Forward: func() (string, error) { return c.forward("6443") },
		Dial:    c.network.Dial,
		OnReady: c.recordReady,
	})
	if err != nil {
		return nil, err
	}
	d := &c.document
	d.KubernetesVersion = cluster.Version
	d.Kubeconfig, d.ApproverKubeconfig = cluster.AdminKubeconfig, cluster.ApproverKubeconfig
	d.BootstrapKubeconfig, d.ClusterCA = cluster.BootstrapKubeconfig, cluster.RootCA
	d.NodeSideServer, d.APIForward = cluster.NodeSideServer, cluster.APIForward
	return cluster, nil
}
