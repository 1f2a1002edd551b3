// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/admin"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/ignitionserver"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/payload"
)

// ignitionPort is the HTTPS port of a Route, so the URL in the user data has none.
const ignitionPort = "443"

// coreKey is a public key without a private key.
const coreKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA core@example.com"

// startIgnition builds the payload and serves it. It returns a function that creates user data
// with the current token.
func (c *ControlPlane) startIgnition(
	cluster *kube.Cluster, images images,
) (*ignitionserver.Server, func() ([]byte, error), error) {
	inputs, err := c.payloadInputs(cluster, images)
	if err != nil {
		return nil, nil, err
	}
	built, err := payload.Build(inputs)
	if err != nil {
		return nil, nil, err
	}
	logFile, err := c.log("ignition-server")
	if err != nil {
		return nil, nil, err
	}
	d := &c.document
	d.NodePool = "clusters/" + c.options.Name + "-workers"
	d.TargetConfigVersionHash = built.Hash
	d.IgnitionEndpoint = net.JoinHostPort(c.host("ignition"), ignitionPort)
	server, err := ignitionserver.New(ignitionserver.Config{
		Host: c.host("ignition"), NodePool: d.NodePool, Hash: built.Hash,
		Payload: built.Body, Log: log.New(logFile, "", log.LstdFlags),
	})
	if err != nil {
		return nil, nil, err
	}
	if err := c.serve(ignitionPort, server.Serve, server.Close); err != nil {
		return nil, nil, err
	}
	if d.IgnitionForward, err = c.forward(ignitionPort); err != nil {
		return nil, nil, err
	}
	userData := func() ([]byte, error) {
		return payload.UserData{
			Endpoint: c.host("ignition"), Token: server.Token(),
			NodePool: d.NodePool, Hash: built.Hash, CA: server.CA(),
		}.Encode()
	}
	first, err := userData()
	if err != nil {
		return nil, nil, err
	}
	for _, f := range []struct {
		name    string
		content []byte
		into    *string
	}{
		{"user-data.ign", first, &d.UserData},
		{"payload.ign", built.Body, &d.Payload},
		{"ignition-ca.crt", server.CA(), &d.IgnitionCA},
	} {
		if *f.into, err = c.dirs.write(f.name, f.content); err != nil {
			return nil, nil, err
		}
	}
	return server, userData, nil
}

func (c *ControlPlane) payloadInputs(cluster *kube.Cluster, images images) (payload.Inputs, error) {
	kubeletCA, err := os.ReadFile(cluster.KubeletCA)
	if err != nil {
		return payload.Inputs{}, fmt.Errorf("reading kubelets' client CAs: %w", err)
	}
	bootstrap, err := os.ReadFile(cluster.BootstrapKubeconfig)
	if err != nil {
		return payload.Inputs{}, fmt.Errorf("reading the bootstrap kubeconfig: %w", err)
	}
	return payload.Inputs{
		APIName:           c.host("api"),
		Stack:             c.stack,
		Registry:          c.document.Registry,
		ReleaseRepository: c.document.Registry + "/" + releaseRepository,
		PauseImage:        images.pause,
		OSImage:           images.os,
		APIProxyImage:     images.apiProxy,
		PullSecret:        images.pullSecret,
		KubeletCA:         kubeletCA,
		BootstrapConfig:   bootstrap,
		SSHKey:            coreKey,
	}, nil
}

// startAdmin serves the admin endpoint on the host's loopback interface.
func (c *ControlPlane) startAdmin(endpoint admin.Server) error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening for the admin endpoint: %w", err)
	}
	server := &http.Server{
		Handler:           endpoint.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
	}
	c.background(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving the admin endpoint: %w", err)
		}
		return nil
	}, server.Close)
	c.document.AdminURL = "http://" + listener.Addr().String()
	return nil
}
