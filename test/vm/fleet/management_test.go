// SPDX-License-Identifier: Apache-2.0

//go:build vm

package fleet

import (
	"context"
	"encoding/base64"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/test/hypershift"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/netns"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// release is the release of the NodePool.
const release = "4.21.3"

// management is the management cluster of the control plane.
type management struct {
	hypershift.Cluster

	server string // URL in the network of the machines
}

// startManagement starts a management cluster with the NodePool, and writes the kubeconfigs of the administrator.
func startManagement(ctx context.Context, t *testing.T) *management {
	t.Helper()
	plane := kubetest.StartPlane(t, "management")
	m := &management{
		Cluster: hypershift.Cluster{Kubeconfig: plane.Kubeconfig}, server: "https://" + forward(t, plane.APIForward),
	}
	must(t, m.Define(ctx))
	payload, err := environment.Payload()
	must(t, err)
	m.setPayload(ctx, t, payload, "11")
	hosted, err := environment.NodeSideKubeconfig(environment.ControlPlane.Kubeconfig)
	must(t, err)
	must(t, m.SetAdminKubeconfig(ctx, hosted))
	must(t, os.WriteFile(filepath.Join(directory, "hosted.kubeconfig"), hosted, 0o600))

	config, err := clientcmd.LoadFromFile(m.Kubeconfig)
	must(t, err)
	config.Clusters[config.Contexts[config.CurrentContext].Cluster].Server = m.server
	must(t, clientcmd.WriteToFile(*config, filepath.Join(directory, "management.kubeconfig")))
	return m
}

// forward makes an address of this host reachable in the network of the machines until the test ends, and returns its
// address there.
func forward(t *testing.T, target string) string {
	t.Helper()
	var listener net.Listener
	must(t, netns.Do(environment.ControlPlane.Netns, func() (err error) {
		listener, err = net.Listen("tcp", "127.0.0.1:0")
		return err
	}))
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return // the listener is closed
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				near.Close() // the client sees a closed connection
				continue
			}
			go func() {
				_, _ = io.Copy(far, near)
				far.Close()
			}()
			go func() {
				_, _ = io.Copy(near, far)
				near.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

// setPayload changes the payload of the NodePool, and its configuration hash.
func (m *management) setPayload(ctx context.Context, t *testing.T, payload testenv.Payload, hash string) {
	t.Helper()
	must(t, environment.Serve(ctx, payload))
	content, err := environment.ControlPlane.CurrentUserData(ctx)
	must(t, err)
	userData, err := ignition.ParseUserData(content)
	must(t, err)
	userData, err = userData.Override(ignition.Values{
		NodePool: hypershift.Namespace + "/" + hypershift.NodePool, Hash: hash,
	})
	must(t, err)
	content, err = userData.Encode()
	must(t, err)
	encoded := strings.TrimPrefix(userData.Headers.Get("Authorization"), "Bearer ")
	token, err := base64.StdEncoding.DecodeString(encoded)
	must(t, err)
	must(t, m.Apply(ctx, hypershift.State{
		Endpoint: environment.ControlPlane.IgnitionEndpoint, Token: string(token), UserData: content, Config: hash,
		Release: release,
	}))
}

// startController runs the installed controller until the test ends: no pod of the management cluster does. It returns
// when the user data is published.
func (m *management) startController(ctx context.Context, t *testing.T) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", m.Kubeconfig)
	must(t, err)
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	account, err := rights.NewKubeconfig(ctx, client, rights.Controller, m.Kubeconfig, m.server)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(directory, "service-account.kubeconfig"), account, 0o600))
	args, err := m.ControllerCommand(ctx, directory)
	must(t, err)
	log, err := os.Create(filepath.Join(directory, "controller.log"))
	must(t, err)
	ctx, stop := context.WithCancel(ctx)
	command := adminCommand(ctx, t, append(args, "--management-kubeconfig", "service-account.kubeconfig")...)
	command.Stdout, command.Stderr = log, log
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	must(t, command.Start())
	t.Cleanup(func() {
		stop()
		_ = command.Wait() // it was interrupted
		must(t, log.Close())
	})
	waittest.Until(t, "waiting for the published user data", func() (any, bool) {
		_, err := environment.Client.CoreV1().Secrets(v1alpha1.Namespace).Get(ctx,
			v1alpha1.UserDataSecret(hypershift.NodePool), metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			must(t, err)
		}
		return err, err == nil
	})
}
