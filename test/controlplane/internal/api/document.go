package api

// Document tells how to reach a running control plane. The controlplane
// program prints it, once, when everything is ready. Paths are on this host
// and are gone when the control plane has stopped.
type Document struct {
	// Name is the hosted cluster's name.
	Name string `json:"name"`
	// PID is the controlplane program's.
	PID int `json:"pid"`
	// KubernetesVersion is the API server's, "v1.34.2".
	KubernetesVersion string `json:"kubernetesVersion"`

	// Kubeconfig is the administrator's. Its server is a forwarded port of
	// this host's loopback.
	Kubeconfig string `json:"kubeconfig"`
	// ApproverKubeconfig may approve kubelets' CSRs and read nodes, nothing else.
	ApproverKubeconfig string `json:"approverKubeconfig"`
	// BootstrapKubeconfig is what the payload holds: its server is NodeSideServer.
	BootstrapKubeconfig string `json:"bootstrapKubeconfig"`
	// ClusterCA signed the API server's certificate.
	ClusterCA string `json:"clusterCA"`

	// Netns is the network namespace that the control plane listens in, for
	// nsenter --net=NETNS.
	Netns string `json:"netns"`
	// Bridge is the bridge in that namespace that machines' taps belong to.
	Bridge string `json:"bridge"`
	// HostAddress is the bridge's address with its prefix length. DHCP, DNS and
	// every server of the control plane answer there.
	HostAddress string `json:"hostAddress"`

	// NodeSideServer is the API's URL as nodes see it.
	NodeSideServer string `json:"nodeSideServer"`
	// IgnitionEndpoint is host:port of the ignition server as nodes see it.
	IgnitionEndpoint string `json:"ignitionEndpoint"`
	// Registry is host:port of the image registry as nodes see it. Plain HTTP.
	Registry string `json:"registry"`
	// APIForward, IgnitionForward and RegistryForward are host:port on this
	// host's loopback for the three of them.
	APIForward      string `json:"apiForward"`
	IgnitionForward string `json:"ignitionForward"`
	RegistryForward string `json:"registryForward"`

	// Stub is the user-data stub with the token that was current at the start;
	// the switchboard's Stub has the one that is current now.
	Stub string `json:"stub"`
	// Payload is what the ignition server answers with.
	Payload string `json:"payload"`
	// IgnitionCA signed the ignition server's certificate.
	IgnitionCA string `json:"ignitionCA"`
	// NodePool is "NAMESPACE/NAME" as in the stub's header, and
	// TargetConfigVersionHash the other header.
	NodePool                string `json:"nodePool"`
	TargetConfigVersionHash string `json:"targetConfigVersionHash"`

	// MachineConfigURL is where a standalone cluster's machine-config server has
	// the configuration of its workers, as nodes see it, and MachineConfigForward
	// host:port of that server on this host's loopback.
	MachineConfigURL     string `json:"machineConfigURL"`
	MachineConfigForward string `json:"machineConfigForward"`
	// MachineConfigCA signed that server's certificate, and nothing else.
	MachineConfigCA string `json:"machineConfigCA"`
	// WorkerStub is what such a cluster keeps in Secret worker-user-data, and
	// WorkerConfig what the server answers with, in Ignition spec 3.2.
	WorkerStub   string `json:"workerStub"`
	WorkerConfig string `json:"workerConfig"`

	// PauseImage and WorkloadImage are pull specs by digest as nodes use them.
	PauseImage    string `json:"pauseImage"`
	WorkloadImage string `json:"workloadImage"`
	// EnterImage executes a command of the host in a pod that mounts the host's
	// root directory; see images/enter.
	EnterImage string `json:"enterImage"`
	// PullSecret is the .dockerconfigjson that the registry asks for.
	PullSecret string `json:"pullSecret"`

	// AdminURL is the switchboard, on this host's loopback.
	AdminURL string `json:"adminURL"`
	// Logs is the folder of the logs, which stays.
	Logs string `json:"logs"`
	// StartSeconds is how long each part took to be ready, from the start.
	StartSeconds map[string]float64 `json:"startSeconds"`
}
