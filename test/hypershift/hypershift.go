// SPDX-License-Identifier: Apache-2.0

// Package hypershift turns an API server into a management cluster: with the kinds of HyperShift, a HostedCluster of
// platform None, and a NodePool with its user data and token.
package hypershift

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Names of the objects.
const (
	Namespace     = "clusters"          // of the HostedCluster and the NodePool
	HostedCluster = "hosted.a"          // in Namespace
	ControlPlane  = "clusters-hosted-a" // namespace of the hosted control plane
	NodePool      = "workers"
)

//go:embed definitions.yaml
var definitions string

//go:embed objects.yaml
var objects string

// State contains the differences between two states of the NodePool.
type State struct {
	Endpoint string // host:port of the ignition server
	Token    string
	UserData []byte // with Token
	Config   string // hash of the configuration
	Release  string // version
}

// Cluster is a management cluster.
type Cluster struct {
	Kubeconfig string // of an administrator

	kubectl string // path of the program
}

// New returns the cluster of an administrator's kubeconfig.
func New(ctx context.Context, kubeconfig string) (Cluster, error) {
	bin, err := bed.Build(ctx)
	return Cluster{Kubeconfig: kubeconfig, kubectl: filepath.Join(bin, "kubectl")}, err
}

// Run runs kubectl as the administrator, with a standard input, and returns its output.
func (c Cluster) Run(ctx context.Context, input string, args ...string) (string, error) {
	args = append([]string{waittest.KubectlTimeout, "--kubeconfig", c.Kubeconfig}, args...)
	command := exec.CommandContext(ctx, c.kubectl, args...)
	command.Stdin = strings.NewReader(input)
	var failure strings.Builder
	command.Stderr = &failure
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("kubectl %q: %w: %s", args, err, &failure)
	}
	return string(out), nil
}

// Define creates the kinds of HyperShift.
func (c Cluster) Define(ctx context.Context) error {
	if _, err := c.Run(ctx, definitions, "apply", "-f", "-"); err != nil {
		return err
	}
	_, err := c.Run(ctx, "", "wait", "--for=condition=Established", "crd", "--all",
		"--timeout="+waittest.Timeout.String())
	return err
}

// Apply creates or changes the HostedCluster and the NodePool, as HyperShift does. The token of the NodePool is new.
func (c Cluster) Apply(ctx context.Context, state State) error {
	content := strings.NewReplacer("ENDPOINT", state.Endpoint, "TOKEN", state.Token,
		"USER_DATA", base64.StdEncoding.EncodeToString(state.UserData), "CONFIG", state.Config, "RELEASE", state.Release,
		"GENERATED", time.Now().Add(-time.Minute).Format(time.RFC3339Nano)).Replace(objects)
	_, err := c.Run(ctx, content, "apply", "-f", "-")
	return err
}

// SetAdminKubeconfig stores the administrator's kubeconfig of the hosted cluster where the HostedCluster names it.
func (c Cluster) SetAdminKubeconfig(ctx context.Context, kubeconfig []byte) error {
	const secret = HostedCluster + "-admin-kubeconfig"
	_, err := c.Run(ctx, fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: %s, namespace: %s}, "+
		"data: {kubeconfig: %s}}", secret, Namespace, base64.StdEncoding.EncodeToString(kubeconfig)), "apply", "-f", "-")
	if err != nil {
		return err
	}
	_, err = c.Run(ctx, "", "-n", Namespace, "patch", "hostedcluster", HostedCluster, "--type=merge", "-p",
		`{"status": {"kubeconfig": {"name": "`+secret+`"}}}`)
	return err
}

// ControllerCommand returns the arguments of the installed controller for a process on this host. It writes the
// kubeconfig of the controller for the hosted cluster to a directory.
func (c Cluster) ControllerCommand(ctx context.Context, dir string) ([]string, error) {
	encoded, err := c.Run(ctx, "", "-n", v1alpha1.Namespace, "get", "secret", "hcp-node-admin-controller", "-o",
		"jsonpath={.data.kubeconfig}")
	if err != nil {
		return nil, err
	}
	content, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("decoding the kubeconfig of the controller: %w", err)
	}
	kubeconfig := filepath.Join(dir, "controller.kubeconfig")
	if err := os.WriteFile(kubeconfig, content, 0o600); err != nil {
		return nil, fmt.Errorf("writing the kubeconfig of the controller: %w", err)
	}
	text, err := c.Run(ctx, "", "-n", v1alpha1.Namespace, "get", "deployment", "hcp-node-admin-controller", "-o",
		"jsonpath={.spec.template.spec.containers[0].args}")
	if err != nil {
		return nil, err
	}
	var args []string
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		return nil, fmt.Errorf("decoding the arguments of the controller: %w", err)
	}
	for i, arg := range args {
		arg = strings.Replace(arg, "/credentials/kubeconfig", kubeconfig, 1)
		args[i] = allAddresses.ReplaceAllString(arg, "=127.0.0.1:0")
	}
	return args, nil
}

// allAddresses is a port of all addresses, at the end of an argument.
var allAddresses = regexp.MustCompile(`=:\d+$`)
