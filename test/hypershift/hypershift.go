// SPDX-License-Identifier: Apache-2.0

// Package hypershift turns an API server into a management cluster: with the kinds of HyperShift, a HostedCluster of
// platform None, and NodePools with their user data and tokens, in the order in which HyperShift changes them.
package hypershift

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Names of the objects.
const (
	Namespace     = "clusters"          // of the HostedCluster and the NodePool
	HostedCluster = "hosted-a"          // in Namespace
	ControlPlane  = "clusters-hosted-a" // namespace of the hosted control plane
	NodePool      = "workers"
)

// The annotations of HyperShift that change with a configuration.
const (
	configAnnotation = "hypershift.openshift.io/nodePoolCurrentConfigVersion"        // of a NodePool
	expiryAnnotation = "hypershift.openshift.io/ignition-token-expiration-timestamp" // of an outdated token Secret
)

// outdatedTokenLife is the time for which HyperShift accepts the token of a former configuration.
const outdatedTokenLife = 2 * time.Hour

// definitions are HyperShift's own CRDs. Directory generate writes them.
//
//go:embed definitions.yaml
var definitions string

//go:embed hostedcluster.yaml
var hostedClusterManifest string

//go:embed nodepool.yaml
var nodePoolManifest string

//go:embed token.yaml
var tokenManifest string

//go:embed userdata.yaml
var userDataManifest string

// State contains the differences between two states of a NodePool.
type State struct {
	HostedCluster string // "" for HostedCluster
	NodePool      string // "" for NodePool
	Endpoint      string // host:port of the ignition server
	Token         string
	UserData      []byte // with Token
	Config        string // hash of the configuration
	Release       string // version
}

func (s State) hostedCluster() string { return cmp.Or(s.HostedCluster, HostedCluster) }
func (s State) nodePool() string      { return cmp.Or(s.NodePool, NodePool) }
func (s State) controlPlane() string  { return Namespace + "-" + s.hostedCluster() }

// manifest replaces the words in capital letters of a manifest.
func (s State) manifest(text, platform string) string {
	return strings.NewReplacer("ENDPOINT", s.Endpoint, "CONFIG", s.Config, "RELEASE", s.Release, "PLATFORM", platform,
		"USER_DATA", base64.StdEncoding.EncodeToString(s.UserData), "POOL", s.nodePool(), "CLUSTER", s.hostedCluster(),
		"TOKEN", base64.StdEncoding.EncodeToString([]byte(s.Token)),
		"GENERATED", time.Now().Add(-time.Minute).Format(time.RFC3339Nano)).Replace(text)
}

// Cluster is a management cluster.
type Cluster struct {
	Kubeconfig string // of an administrator
}

// Run runs kubectl as the administrator, with a standard input, and returns its output.
func (c Cluster) Run(ctx context.Context, input string, args ...string) (string, error) {
	return bed.Kubectl(ctx, c.Kubeconfig, input, args...)
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

// Apply creates or changes the HostedCluster and the NodePool, as HyperShift does, and creates a NodePool of another
// platform. The token of the NodePool is new.
func (c Cluster) Apply(ctx context.Context, state State) error {
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: " + Namespace + "}}"
	if _, err := c.Run(ctx, namespace, "apply", "-f", "-"); err != nil {
		return err
	}
	if err := c.put(ctx, state.manifest(hostedClusterManifest, "None")); err != nil {
		return err
	}
	if err := c.ApplyNodePool(ctx, state); err != nil {
		return err
	}
	state.NodePool, state.Config = "aws", ""
	return c.put(ctx, state.manifest(nodePoolManifest, "AWS"))
}

// CreateHostedCluster creates a HostedCluster without a status.
func (c Cluster) CreateHostedCluster(ctx context.Context, name, platform string) error {
	manifest := State{HostedCluster: name, Release: "4.20.3"}.manifest(hostedClusterManifest, platform)
	_, err := c.Run(ctx, manifest, "create", "-f", "-")
	return err
}

// ApplyNodePool creates or changes a NodePool of the HostedCluster. HyperShift replaces the Secrets first.
func (c Cluster) ApplyNodePool(ctx context.Context, state State) error {
	if err := c.ReplaceSecrets(ctx, state); err != nil {
		return err
	}
	return c.put(ctx, state.manifest(nodePoolManifest, "None"))
}

// ReplaceSecrets writes the user data and the token of a NodePool. If the configuration is new, the user data of the
// former one is deleted before, and its token expires later.
func (c Cluster) ReplaceSecrets(ctx context.Context, state State) error {
	path := strings.ReplaceAll(configAnnotation, ".", `\.`)
	former, err := c.Run(ctx, "", "-n", Namespace, "get", "nodepool", state.nodePool(), "--ignore-not-found",
		"-o", "jsonpath={.metadata.annotations."+path+"}")
	if err != nil {
		return err
	}
	if former != "" && former != state.Config {
		_, err := c.Run(ctx, "", "-n", state.controlPlane(), "delete", "secret", "--ignore-not-found",
			"user-data-"+state.nodePool()+"-"+former)
		if err != nil {
			return err
		}
		expiry := time.Now().Add(outdatedTokenLife).Format(time.RFC3339)
		if err := c.annotateToken(ctx, state, former, expiryAnnotation+"="+expiry); err != nil {
			return err
		}
	}
	if err := c.RotateToken(ctx, state); err != nil {
		return err
	}
	_, err = c.Run(ctx, state.manifest(userDataManifest, ""), "apply", "-f", "-")
	return err
}

// RotateToken replaces the token as the ignition server does, which still accepts the former one. The user data has the
// former token until HyperShift replaces it, with ReplaceSecrets. A token that expires as outdated no longer does.
func (c Cluster) RotateToken(ctx context.Context, state State) error {
	tokens, err := c.Run(ctx, "", "-n", state.controlPlane(), "get", "secret", "--ignore-not-found",
		"token-"+state.nodePool()+"-"+state.Config, "-o", "jsonpath={.data.token} {.data.old_token}")
	if err != nil {
		return err
	}
	current, former, _ := strings.Cut(tokens, " ")
	if current != base64.StdEncoding.EncodeToString([]byte(state.Token)) {
		former = current
	}
	manifest := strings.Replace(state.manifest(tokenManifest, ""), "FORMER", former, 1)
	if _, err := c.Run(ctx, manifest, "apply", "-f", "-"); err != nil {
		return err
	}
	return c.annotateToken(ctx, state, state.Config, expiryAnnotation+"-")
}

func (c Cluster) annotateToken(ctx context.Context, state State, config, annotation string) error {
	_, err := c.Run(ctx, "", "-n", state.controlPlane(), "annotate", "--overwrite", "secret",
		"token-"+state.nodePool()+"-"+config, annotation)
	return err
}

// put applies the manifest of an object in Namespace, and then its status, which is a resource of its own.
func (c Cluster) put(ctx context.Context, manifest string) error {
	if _, err := c.Run(ctx, manifest, "apply", "-f", "-"); err != nil {
		return err
	}
	var object struct {
		Kind     string
		Metadata struct{ Name string }
		Status   json.RawMessage
	}
	if err := yaml.Unmarshal([]byte(manifest), &object); err != nil {
		return fmt.Errorf("decoding a manifest: %w", err)
	}
	// A merge patch would remove the fields that are null.
	_, err := c.Run(ctx, "", "-n", Namespace, "patch", strings.ToLower(object.Kind), object.Metadata.Name,
		"--subresource=status", "--type=json", "-p", `[{"op": "add", "path": "/status", "value": `+string(object.Status)+`}]`)
	return err
}

// PatchStatus changes fields of the status of an object in Namespace, as HyperShift does.
func (c Cluster) PatchStatus(ctx context.Context, kind, name, status string) error {
	_, err := c.Run(ctx, "", "-n", Namespace, "patch", kind, name, "--subresource=status", "--type=merge", "-p",
		`{"status": `+status+`}`)
	return err
}

// SetAdminKubeconfig stores the administrator's kubeconfig of the hosted cluster where the HostedCluster names it.
func (c Cluster) SetAdminKubeconfig(ctx context.Context, kubeconfig []byte) error {
	_, err := c.Run(ctx, fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: %s, namespace: %s}, "+
		"data: {kubeconfig: %s}}", HostedCluster+"-admin-kubeconfig", Namespace,
		base64.StdEncoding.EncodeToString(kubeconfig)), "apply", "-f", "-")
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
