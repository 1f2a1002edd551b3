// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm/internal/child"
)

// corefile is the part of the configuration that OpenShift's DNS operator writes for the names of the cluster. CoreDNS
// refuses others.
const corefile = `.:%[1]s {
    bind %[2]s
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        kubeconfig %[3]s
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }
}
`

// dnsPort is the port of CoreDNS. The test environment's DNS server has port 53 of the same address.
const dnsPort = "5353"

// endpoint makes CoreDNS the DNS server of pods.
const endpoint = `[{"op": "replace", "path": "/ports", "value": [
  {"name": "dns", "port": %[1]s, "protocol": "UDP"}, {"name": "dns-tcp", "port": %[1]s, "protocol": "TCP"}]}]`

// StartDNS starts CoreDNS, a program, for the names of Services and pods. It runs beside the control plane, because
// its image would need CoreDNS in the machines.
func (c *Cluster) StartDNS(ctx context.Context, program string) error {
	kubeconfig, err := c.hostKubeconfig()
	if err != nil {
		return err
	}
	file := filepath.Join(c.logs, "Corefile")
	if err := os.WriteFile(file, fmt.Appendf(nil, corefile, dnsPort, c.HostAddress(), kubeconfig), 0o600); err != nil {
		return fmt.Errorf("writing the configuration of CoreDNS: %w", err)
	}
	log, err := os.Create(filepath.Join(c.logs, "coredns.log"))
	if err != nil {
		return fmt.Errorf("opening the log of CoreDNS: %w", err)
	}
	defer log.Close()
	command := exec.Command("nsenter", "--net="+c.ControlPlane.Netns, program, "-conf", file)
	command.Stdout, command.Stderr = log, log
	if c.dns, err = child.Start(command); err != nil {
		return err
	}
	_, err = c.Kubectl(ctx, "", "patch", "endpointslice", "dns-default", "-n", "openshift-dns", "--type", "json", "-p",
		fmt.Sprintf(endpoint, dnsPort))
	return err
}
