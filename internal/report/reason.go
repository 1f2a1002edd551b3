// SPDX-License-Identifier: Apache-2.0

package report

// Reason names the kind of problem of a finding about a joined node. It is the reason of the
// Events and a label of the metrics, so a value must not change. docs/day-2.md explains each.
type Reason string

// The reasons of findings.
const (
	APIServerUnreachable      Reason = "APIServerUnreachable"
	CertificateExpiring       Reason = "CertificateExpiring"
	CheckFailed               Reason = "CheckFailed"
	ClientCAExpired           Reason = "ClientCAExpired"
	ClientCAExpiring          Reason = "ClientCAExpiring"
	ClientCAOutdated          Reason = "ClientCAOutdated"
	ClockSkew                 Reason = "ClockSkew"
	ClusterCANotTrusted       Reason = "ClusterCANotTrusted"
	ConfigurationDrift        Reason = "ConfigurationDrift"
	CRIONotRunning            Reason = "CRIONotRunning"
	DiskPressure              Reason = "DiskPressure"
	HostNameChanged           Reason = "HostNameChanged"
	ImagePullFailed           Reason = "ImagePullFailed"
	KubeletNotRunning         Reason = "KubeletNotRunning"
	MemoryPressure            Reason = "MemoryPressure"
	NetworkUnavailable        Reason = "NetworkUnavailable"
	NodeAddressChanged        Reason = "NodeAddressChanged"
	NodeAddressMissing        Reason = "NodeAddressMissing"
	NodeCordoned              Reason = "NodeCordoned"
	NodeDeleted               Reason = "NodeDeleted"
	NodeNotReady              Reason = "NodeNotReady"
	NodeNotRegistered         Reason = "NodeNotRegistered"
	NodeTainted               Reason = "NodeTainted"
	PIDPressure               Reason = "PIDPressure"
	PodNetworkNotReady        Reason = "PodNetworkNotReady"
	PodNotReady               Reason = "PodNotReady"
	PodStatusUnknown          Reason = "PodStatusUnknown"
	PodSubnetMissing          Reason = "PodSubnetMissing"
	RegistryCredentialMissing Reason = "RegistryCredentialMissing"
	ReleaseMismatch           Reason = "ReleaseMismatch"
	RequiredUnitNotRunning    Reason = "RequiredUnitNotRunning"
	ServingCertificateMissing Reason = "ServingCertificateMissing"
	UpdateNotRunning          Reason = "UpdateNotRunning"
)
