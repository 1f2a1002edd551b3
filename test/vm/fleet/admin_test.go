// SPDX-License-Identifier: Apache-2.0

//go:build vm

package fleet

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// adminCommand returns a command of hcp-node-admin in the network of the machines, with their name server and the
// kubeconfig for this network.
func adminCommand(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path := filepath.Join(directory, "hosted.kubeconfig")
	content, err := environment.NodeSideKubeconfig(environment.ControlPlane.Kubeconfig)
	must(t, err)
	must(t, os.WriteFile(path, content, 0o600))
	address, _, _ := strings.Cut(environment.ControlPlane.HostAddress, "/")
	names := filepath.Join(directory, "resolv.conf")
	must(t, os.WriteFile(names, []byte("nameserver "+address+"\n"), 0o600))
	args = append([]string{
		"--net=" + environment.ControlPlane.Netns, "unshare", "--mount", "sh", "-c",
		`mount --bind "$0" /etc/resolv.conf && exec ../../../bin/hcp-node-admin "$@"`, names,
	}, args...)
	command := exec.CommandContext(ctx, "nsenter", args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+path)
	return command
}

// admin runs a command of hcp-node-admin.
func admin(ctx context.Context, t *testing.T, args ...string) {
	t.Helper()
	out, err := adminCommand(ctx, t, args...).CombinedOutput()
	t.Logf("hcp-node-admin %s\n%s", strings.Join(args, " "), out)
	must(t, err)
}

// startController runs the controller until the test ends.
func startController(ctx context.Context, t *testing.T) {
	t.Helper()
	log, err := os.Create(filepath.Join(directory, "controller.log"))
	must(t, err)
	ctx, stop := context.WithCancel(ctx)
	command := adminCommand(ctx, t, "controller", "run")
	command.Stdout, command.Stderr = log, log
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	must(t, command.Start())
	t.Cleanup(func() {
		stop()
		_ = command.Wait() // it was interrupted
		must(t, log.Close())
	})
}

// publish makes the control plane serve a payload with a configuration hash, and publishes its user data as the
// controller does with access to the management cluster.
func publish(ctx context.Context, t *testing.T, payload testenv.Payload, hash string) {
	t.Helper()
	must(t, environment.Serve(ctx, payload))
	content, err := environment.ControlPlane.CurrentUserData(ctx)
	must(t, err)
	userData, err := ignition.ParseUserData(content)
	must(t, err)
	userData, err = userData.Override(ignition.Values{Hash: hash})
	must(t, err)
	content, err = userData.Encode()
	must(t, err)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:        v1alpha1.UserDataSecret(nodePool),
			Labels:      map[string]string{v1alpha1.LabelNodePool: nodePool},
			Annotations: map[string]string{v1alpha1.AnnotationPoolConfig: hash, v1alpha1.AnnotationPoolRelease: "4.21.3"},
		},
		Data: map[string][]byte{v1alpha1.UserDataKey: content},
	}
	secrets := environment.Client.CoreV1().Secrets(v1alpha1.Namespace)
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	}
	must(t, err)
}

// nodePool is the NodePool of both machines.
const nodePool = "workers"

// awaitOutput runs a command of hcp-node-admin until its output contains all texts.
func awaitOutput(ctx context.Context, t *testing.T, timeout time.Duration, args []string, texts ...string) {
	t.Helper()
	var out []byte
	for deadline := time.Now().Add(timeout); ; time.Sleep(2 * time.Second) {
		var err error
		out, err = adminCommand(ctx, t, args...).CombinedOutput()
		must(t, err)
		missing := ""
		for _, text := range texts {
			if !strings.Contains(string(out), text) {
				missing = text
			}
		}
		if missing == "" {
			t.Logf("hcp-node-admin %s\n%s", strings.Join(args, " "), out)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("hcp-node-admin %s does not print %q:\n%s", strings.Join(args, " "), missing, out)
		}
	}
}
