// SPDX-License-Identifier: Apache-2.0

package bed

// Document describes a running control plane. The controlplane binary prints it once, when
// everything is ready. Paths are on this host and are removed when the control plane stops.
type Document struct {
	// Name is the hosted cluster's name.
	Name string `json:"name"`
	// PID is the process ID of the controlplane binary.
	PID int `json:"pid"`
	// KubernetesVersion is the version of the API server, for example "v1.34.2".
	KubernetesVersion string `json:"kubernetesVersion"`

	// Kubeconfig is the path of the administrator's kubeconfig. Its server is a port on this
	// host's loopback interface that is forwarded to the API server.
	Kubeconfig string `json:"kubeconfig"`
	// ApproverKubeconfig is the path of a kubeconfig that can only approve kubelets' CSRs and
	// read nodes.
	ApproverKubeconfig string `json:"approverKubeconfig"`
	// BootstrapKubeconfig is the path of the payload's kubeconfig. Its server is NodeSideServer.
	BootstrapKubeconfig string `json:"bootstrapKubeconfig"`
	// ClusterCA is the path of the CA certificate of the API server.
	ClusterCA string `json:"clusterCA"`

	// Netns is the path of the control plane's network namespace, for nsenter --net=NETNS.
	Netns string `json:"netns"`
	// Bridge is the bridge in Netns to which machines' taps are attached.
	Bridge string `json:"bridge"`
	// HostAddress is the bridge's address with its prefix length. DHCP, DNS and all servers of
	// the control plane listen on it.
	HostAddress string `json:"hostAddress"`
	// Stack are the address families of the cluster: ipv4, ipv6, or dual-ipv6, which is IPv6 first.
	Stack string `json:"stack"`

	// NodeSideServer is the URL of the API server for nodes.
	NodeSideServer string `json:"nodeSideServer"`
	// IgnitionEndpoint is host:port of the Ignition server for nodes.
	IgnitionEndpoint string `json:"ignitionEndpoint"`
	// Registry is host:port of the image registry for nodes. It uses plain HTTP.
	Registry string `json:"registry"`
	// APIForward, IgnitionForward and RegistryForward are host:port on this host's loopback
	// interface, forwarded to the three servers.
	APIForward      string `json:"apiForward"`
	IgnitionForward string `json:"ignitionForward"`
	RegistryForward string `json:"registryForward"`

	// UserData is the path of user data with the first token. CurrentUserData of AdminClient returns
	// user data with the current token.
	UserData string `json:"userData"`
	// Payload is the path of the Ignition server's payload.
	Payload string `json:"payload"`
	// IgnitionCA is the path of the CA certificate of the Ignition server.
	IgnitionCA string `json:"ignitionCA"`
	// NodePool is "NAMESPACE/NAME" as in the user data's header. TargetConfigVersionHash is the
	// other header.
	NodePool                string `json:"nodePool"`
	TargetConfigVersionHash string `json:"targetConfigVersionHash"`

	// MachineConfigURL is the URL, for nodes, of the worker configuration on a standalone
	// cluster's machine-config server. MachineConfigForward is host:port on this host's loopback
	// interface, forwarded to that server.
	MachineConfigURL     string `json:"machineConfigURL"`
	MachineConfigForward string `json:"machineConfigForward"`
	// MachineConfigCA is the path of the CA certificate of that server only.
	MachineConfigCA string `json:"machineConfigCA"`
	// WorkerUserData is the path of the user data that such a cluster stores in Secret
	// worker-user-data. WorkerConfig is the path of the server's response, in Ignition spec 3.2.
	WorkerUserData string `json:"workerUserData"`
	WorkerConfig   string `json:"workerConfig"`

	// PauseImage and WorkloadImage are pull specs by digest for nodes.
	PauseImage    string `json:"pauseImage"`
	WorkloadImage string `json:"workloadImage"`
	// EnterImage runs a command of the host in a pod that mounts the host's root directory; see
	// images/enter.
	EnterImage string `json:"enterImage"`
	// PullSecret is the .dockerconfigjson that the registry requires.
	PullSecret string `json:"pullSecret"`

	// AdminURL is the URL of the admin endpoint on this host's loopback interface.
	AdminURL string `json:"adminURL"`
	// Logs is the directory of the logs, which is kept.
	Logs string `json:"logs"`
	// StartSeconds is the time from the start until each component was ready.
	StartSeconds map[string]float64 `json:"startSeconds"`
}
