// SPDX-License-Identifier: Apache-2.0

// Package ovn deploys the real OVN-Kubernetes to a control plane and a machine.
package ovn

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/internal/child"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

//go:embed manifests.yaml
var manifests string

//go:embed ovnkube.conf
var config string

//go:embed ovnkube-lib.sh
var script string

// NodePort is the port of the Service of the workload server.
const NodePort = "30080"

// Namespace is the namespace of OVN-Kubernetes' pods.
const Namespace = "openshift-ovn-kubernetes"

// Cluster is a control plane and a machine with OVN-Kubernetes.
type Cluster struct {
	*testenv.Environment

	// Service is the address of the Service of the workload server.
	Service string

	networks   networks
	repository string
	logs       string // directory
	built      string // directory
	manager    *child.Child
	dns        *child.Child
}

// Deploy installs OVN-Kubernetes in the machine, replaces the stand-in of the network operator, and starts the
// component that runs in the hosted control plane, which writes to the directory logs. The caller must close the result
// before the environment.
func Deploy(ctx context.Context, environment *testenv.Environment, repository, logs string) (*Cluster, error) {
	c := &Cluster{
		Environment: environment, repository: repository, logs: logs,
		networks: networksOf(environment.ControlPlane.Stack),
	}
	c.Service = c.networks.Service
	var err error
	if c.built, err = c.build(ctx); err != nil {
		return nil, err
	}
	if err := c.Install(ctx, c.Machine); err != nil {
		return nil, err
	}
	if err := c.ControlPlane.SetNetwork(ctx, false); err != nil {
		return nil, err
	}
	if err := c.awaitNoStandIn(ctx); err != nil {
		return nil, err
	}
	rendered, err := c.manifests()
	if err != nil {
		return nil, err
	}
	if _, err := c.Kubectl(ctx, rendered, "apply", "-f", "-"); err != nil {
		return nil, err
	}
	_, err = c.Kubectl(ctx, "", "wait", "--for=condition=Established", "crd", "--all",
		"--timeout="+waittest.Timeout.String())
	if err != nil {
		return nil, err
	}
	return c, c.startManager(filepath.Join(c.built, "root", "usr", "bin"))
}

// Close stops the components of the control plane.
func (c *Cluster) Close() {
	for _, started := range []*child.Child{c.manager, c.dns} {
		if started != nil {
			started.Kill()
		}
	}
}

// build returns the directory that build.sh prints.
func (c *Cluster) build(ctx context.Context) (string, error) {
	var out bytes.Buffer
	command := exec.CommandContext(ctx, filepath.Join(c.repository, "test/vm/ovn/build.sh"))
	command.Stdout, command.Stderr = &out, os.Stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("building OVN-Kubernetes: %w", err)
	}
	return strings.TrimSpace(out.String()), nil
}

// Install copies the programs of OVN-Kubernetes to a machine.
func (c *Cluster) Install(ctx context.Context, machine *vm.Machine) error {
	file, err := os.Open(filepath.Join(c.built, "root.tar"))
	if err != nil {
		return fmt.Errorf("opening the binaries of OVN-Kubernetes: %w", err)
	}
	defer file.Close()
	var output bytes.Buffer
	code, err := machine.RunStream(ctx, "tar -C / --keep-directory-symlink -xf -", file, &output, &output)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d", code)
	}
	if err != nil {
		return fmt.Errorf("installing OVN-Kubernetes in the machine: %w: %s", err, output.String())
	}
	return nil
}

func (c *Cluster) awaitNoStandIn(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, waittest.Timeout, true,
		func(ctx context.Context) (bool, error) {
			state, err := c.ControlPlane.State(ctx)
			return err == nil && !state.Network, err
		})
	if err != nil {
		return fmt.Errorf("waiting for the network operator's stand-in to be deleted: %w", err)
	}
	return nil
}

func (c *Cluster) manifests() (string, error) {
	type crd struct{ Kind, Plural, Scope string }
	const cluster, namespaced = "Cluster", "Namespaced"
	parsed, err := template.New("manifests.yaml").Parse(manifests)
	if err != nil {
		return "", fmt.Errorf("parsing the manifests: %w", err)
	}
	conf, err := c.networks.fill(config)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = parsed.Execute(&out, map[string]any{
		"CRDs": []crd{
			{"AdminPolicyBasedExternalRoute", "adminpolicybasedexternalroutes", cluster},
			{"EgressFirewall", "egressfirewalls", namespaced},
			{"EgressIP", "egressips", cluster},
			{"EgressQoS", "egressqoses", namespaced},
			{"EgressService", "egressservices", namespaced},
		},
		"Containers":    []string{"nbdb", "sbdb", "northd", "ovn-controller", "ovnkube-controller"},
		"Workloads":     []string{"server", "client"},
		"Config":        conf,
		"Networks":      c.networks,
		"Script":        script,
		"Host":          c.HostAddress(),
		"APIServer":     c.ControlPlane.NodeSideServer,
		"EnterImage":    c.ControlPlane.EnterImage,
		"WorkloadImage": c.ControlPlane.WorkloadImage,
		"NodePort":      NodePort,
	})
	return out.String(), err
}

// startManager runs the cluster manager, which for a hosted cluster runs in the control plane's
// namespace instead of on a node.
func (c *Cluster) startManager(bin string) error {
	path, err := c.hostKubeconfig()
	if err != nil {
		return err
	}
	file := filepath.Join(c.logs, "cluster-manager.conf")
	content, err := c.networks.fill(strings.ReplaceAll(config, "/var/log/ovn/", c.logs+"/"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		return fmt.Errorf("writing the cluster manager's configuration: %w", err)
	}
	log, err := os.Create(filepath.Join(c.logs, "cluster-manager.log"))
	if err != nil {
		return fmt.Errorf("opening the cluster manager's log: %w", err)
	}
	defer log.Close()
	command := exec.Command("nsenter", "--net="+c.ControlPlane.Netns, filepath.Join(bin, "ovnkube"),
		"--init-cluster-manager", "manager", "--config-file", file, "--k8s-kubeconfig", path, "--loglevel", "4",
		"--enable-interconnect", "--enable-multicast", "--metrics-bind-address", "127.0.0.1:29108")
	command.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	command.Stdout, command.Stderr = log, log
	c.manager, err = child.Start(command)
	return err
}

// hostKubeconfig writes an administrator's kubeconfig with the address of the API server in the control plane's
// namespace, and returns its path.
func (c *Cluster) hostKubeconfig() (string, error) {
	kubeconfig, err := clientcmd.LoadFromFile(c.ControlPlane.Kubeconfig)
	if err != nil {
		return "", fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	for _, server := range kubeconfig.Clusters {
		server.Server = "https://" + net.JoinHostPort(c.HostAddress(), "6443")
	}
	path := filepath.Join(filepath.Dir(c.ControlPlane.Kubeconfig), "host.kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		return "", fmt.Errorf("writing a kubeconfig for the control plane's namespace: %w", err)
	}
	return path, nil
}

// Kubectl runs kubectl as the cluster administrator, with input on its standard input, and returns its output.
func (c *Cluster) Kubectl(ctx context.Context, input string, args ...string) (string, error) {
	out, err := bed.Kubectl(ctx, c.ControlPlane.Kubeconfig, input, args...)
	return strings.TrimSpace(out), err
}
