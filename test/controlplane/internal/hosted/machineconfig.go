// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"log"
	"net"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/machineconfigserver"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/payload"
)

const (
	machineConfigPort = "22623"
	machineConfigPath = "/config/worker"
	servedMinor       = 2 // minor version of Ignition spec 3 in the file that tests compare with
)

// startMachineConfig serves the same cluster as a standalone cluster: the API by its internal
// name, and the worker configuration.
func (c *ControlPlane) startMachineConfig(ctx context.Context, cluster *kube.Cluster, images images) error {
	host := c.host("api-int")
	inputs, err := c.payloadInputs(cluster, images)
	if err != nil {
		return err
	}
	inputs.APIName = host
	if inputs.BootstrapConfig, err = cluster.TokenKubeconfig(ctx, "https://"+net.JoinHostPort(host, "6443")); err != nil {
		return err
	}
	worker, err := payload.BuildWorker(inputs)
	if err != nil {
		return err
	}
	logFile, err := c.log("machine-config-server")
	if err != nil {
		return err
	}
	server, err := machineconfigserver.New(host, worker, log.New(logFile, "", log.LstdFlags))
	if err != nil {
		return err
	}
	if err := c.serve(machineConfigPort, server.Serve, server.Close); err != nil {
		return err
	}
	d := &c.document
	if d.MachineConfigForward, err = c.forward(machineConfigPort); err != nil {
		return err
	}
	d.MachineConfigURL = "https://" + net.JoinHostPort(host, machineConfigPort) + machineConfigPath
	userData, err := payload.WorkerUserData(d.MachineConfigURL, server.CA())
	if err != nil {
		return err
	}
	body, err := worker.Encode(servedMinor)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name    string
		content []byte
		into    *string
	}{
		{"worker.ign", userData, &d.WorkerUserData},
		{"worker-config.ign", body, &d.WorkerConfig},
		{"machine-config-ca.crt", server.CA(), &d.MachineConfigCA},
	} {
		if *f.into, err = c.dirs.write(f.name, f.content); err != nil {
			return err
		}
	}
	return nil
}
