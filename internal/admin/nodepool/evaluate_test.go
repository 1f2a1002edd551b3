// SPDX-License-Identifier: Apache-2.0

package nodepool

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// summarize returns the findings, one per line: severity, check, message and the first command of the remedy.
func summarize(all []report.Finding) string {
	var lines []string
	for _, finding := range all {
		command, _, _ := strings.Cut(finding.Remedy.Command(), "\n")
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s %s: %s | %s",
			finding.Severity, finding.Check, finding.Message, command), " | "))
	}
	return strings.Join(lines, "\n")
}

func TestEvaluate(t *testing.T) {
	const (
		printConditions = `oc -n clusters get nodepool workers -o jsonpath='{range .status.conditions[*]}{.type}={.status} ` +
			`{.message}{"\n"}{end}'`
		printCluster = `oc -n clusters get hostedcluster hosted.a -o jsonpath='{range .status.conditions[*]}` +
			`{.type}={.status} {.message}{"\n"}{end}'`
		printImage = `oc -n clusters get hostedcluster hosted.a -o jsonpath='{.spec.release.image}'`
		printPods  = "oc -n clusters-hosted-a get pods,services | grep ignition-server"
		printLogs  = "oc -n clusters-hosted-a logs deployment/ignition-server --tail=20"
		listPools  = "oc -n clusters get nodepools -o " +
			"custom-columns=NAME:.metadata.name,PLATFORM:.spec.platform.type,DELETED:.metadata.deletionTimestamp"
		resume    = `oc -n clusters patch nodepool workers --type=merge -p '{"spec":{"pausedUntil":null}}'`
		isPaused  = "warning paused: HyperShift does not update the user data: Reconciliation paused until field removed | "
		isMissing = "problem user-data: Secret user-data-workers-844282c1 does not exist in namespace clusters-hosted-a: " +
			"HyperShift has not created the user data of the current configuration yet | "
	)
	pause := func(f *Facts) {
		f.set("ReconciliationActive", "False", "ReconciliationPaused", "Reconciliation paused until field removed")
	}
	setEndpoint := func(f *Facts, strategy string) {
		f.HostedCluster.Status.IgnitionEndpoint = ""
		f.HostedCluster.Spec.Services = nil
		if strategy != "" {
			f.HostedCluster.Spec.Services = []Service{{Name: "Ignition", Strategy: Strategy{Type: strategy}}}
		}
	}
	for name, test := range map[string]struct {
		change func(f *Facts)
		want   string
	}{
		"hosts can join": {func(*Facts) {}, ""},
		"no host has joined": {
			func(f *Facts) { f.set("ReachedIgnitionEndpoint", "False", "ignitionNotReached", "") },
			"note reached: ReachedIgnitionEndpoint is False, as usual before the first host has joined",
		},
		"settings without effect": {
			func(f *Facts) {
				f.NodePool.Spec.Replicas, f.NodePool.Spec.NodeLabels = 3, map[string]string{"a": "b"}
				f.NodePool.Spec.AutoScaling, f.NodePool.Spec.Taints = &struct{}{}, []struct{}{{}}
				f.NodePool.Spec.Management.AutoRepair = true
				f.NodePool.Spec.NodeDrainTimeout = &metav1.Duration{Duration: time.Hour} // the agent uses it
				f.NodePool.Spec.NodeVolumeDetachTimeout = &metav1.Duration{}
			},
			"note ignored-settings: no effect on platform None: spec.replicas, spec.autoScaling, spec.nodeLabels, " +
				"spec.taints, spec.management.autoRepair, spec.nodeVolumeDetachTimeout",
		},
		"NodePool is being deleted": {
			func(f *Facts) { f.NodePool.DeletionTimestamp = &metav1.Time{} },
			"problem deletion: the NodePool is being deleted: HyperShift revokes its token | " + listPools,
		},
		"another platform": {
			func(f *Facts) { f.NodePool.Spec.Platform.Type = "AWS" },
			"problem platform: the platform is AWS: HyperShift itself creates the nodes. Only hosts of platform " +
				"None join with " +
				"user data | " + listPools,
		},
		"HostedCluster does not exist": {
			func(f *Facts) { f.HostedCluster = nil },
			"problem hosted-cluster: HostedCluster hosted.a of the NodePool does not exist | oc -n clusters get hostedclusters",
		},
		"HostedCluster is being deleted": {
			func(f *Facts) { f.HostedCluster.DeletionTimestamp = &metav1.Time{} },
			"problem hosted-cluster: HostedCluster hosted.a is being deleted | oc -n clusters get hostedclusters",
		},
		"HostedCluster is not available": {
			func(f *Facts) {
				setCondition(&f.HostedCluster.Status.Conditions, "Available", "False", "WaitingForAvailable", "Waiting")
			},
			"problem hosted-cluster: the hosted control plane is not available (Available is not True): WaitingForAvailable: " +
				"Waiting | " + printCluster,
		},
		"ignition server is disabled": {
			func(f *Facts) { f.HostedCluster.Annotations = map[string]string{disableIgnitionAnnotation: "true"} },
			"problem ignition-server: the HostedCluster has no ignition server: it is disabled by an annotation | " +
				"oc -n clusters annotate hostedcluster hosted.a hypershift.openshift.io/disable-ignition-server-",
		},
		"ignition server is not available": {
			func(f *Facts) {
				setCondition(&f.HostedCluster.Status.Conditions, "IgnitionEndpointAvailable", "False", "NotFound",
					"Ignition server deployment not found")
			},
			"problem ignition-server: the ignition server is not available (IgnitionEndpointAvailable is not True): " +
				"NotFound: Ignition server deployment not found | " + printPods,
		},
		"no endpoint of a Route": {
			func(f *Facts) { setEndpoint(f, "Route") },
			"problem ignition-server: the HostedCluster has no ignition endpoint: its Route ignition-server-proxy has no host " +
				"yet | " + printPods,
		},
		"no endpoint of a NodePort": {
			func(f *Facts) {
				setEndpoint(f, "NodePort")
				f.set("IgnitionEndpointAvailable", "False", "IgnitionEndpointMissing", "waiting") // is not printed twice
				f.UserData = nil
			},
			"problem ignition-server: the HostedCluster has no ignition endpoint: its Service " +
				"ignition-server-proxy has no node " +
				"port yet | " + printPods,
		},
		"ignition server is not published": {
			func(f *Facts) { setEndpoint(f, "") },
			"problem ignition-server: the HostedCluster has no ignition endpoint: spec.services does not publish the service " +
				"Ignition | " + printPods,
		},
		"ignition server is published as a load balancer": {
			func(f *Facts) { setEndpoint(f, "LoadBalancer") },
			"problem ignition-server: the HostedCluster has no ignition endpoint: spec.services publishes the " +
				"service Ignition " +
				"as LoadBalancer, but only Route and NodePort are supported | " + printPods,
		},
		"CA of the ignition server is missing": {
			func(f *Facts) { f.set("IgnitionEndpointAvailable", "False", "IgnitionCACertMissing", "still waiting") },
			"problem ignition-server: the NodePool has no ignition server (IgnitionEndpointAvailable is not True): " +
				"IgnitionCACertMissing: still waiting | " + printLogs,
		},
		"release image is not valid": {
			func(f *Facts) {
				f.set("ValidReleaseImage", "False", "ValidationFailed", "Failed to get release image: unauthorized")
			},
			"problem release-image: the release image is not valid (ValidReleaseImage is not True): " +
				"ValidationFailed: Failed to " +
				"get release image: unauthorized | " + printImage,
		},
		"control plane is still updated": {
			func(f *Facts) {
				history := &f.HostedCluster.Status.Version.History
				*history = append([]Update{{State: "Partial", Version: "4.21.0"}}, *history...)
				f.set("ValidReleaseImage", "False", "ValidationFailed", "the latest version supported is 4.20.3")
			},
			"problem release-image: the control plane is still updated to 4.21.0, before which HyperShift accepts no newer " +
				"release of the NodePool (ValidReleaseImage is not True): ValidationFailed: the latest version supported is " +
				`4.20.3 | oc -n clusters get hostedcluster hosted.a -o jsonpath='{range .status.version.history[*]}{.version}=` +
				`{.state}{"\n"}{end}'`,
		},
		"architecture does not match": {
			func(f *Facts) {
				f.set("ValidArchPlatform", "False", "InvalidArchPlatform", "payload is arm64")
				f.UserData, f.Token, f.NodePool.Annotations = nil, nil, nil
			},
			"problem architecture: the architecture of the NodePool is not that of the payload of the HostedCluster " +
				"(ValidArchPlatform is not True): InvalidArchPlatform: payload is arm64 | oc -n clusters get nodepool workers -o " +
				`jsonpath='{.spec.arch}{"\n"}'`,
		},
		"HostedCluster has no kubeconfig": {
			func(f *Facts) {
				f.HostedCluster.Status.Kubeconfig = nil
				f.UserData, f.Token, f.NodePool.Annotations = nil, nil, nil
			},
			"problem user-data: HyperShift creates no user data before the HostedCluster has a kubeconfig: status.kubeconfig " +
				"of HostedCluster hosted.a is not set | oc -n clusters-hosted-a get pods -l app=kube-apiserver",
		},
		"HostedCluster has no kubeconfig, and the user data exists": {
			func(f *Facts) { f.HostedCluster.Status.Kubeconfig = nil }, "",
		},
		"paused, and then changed": {
			func(f *Facts) {
				pause(f)
				f.set("ValidGeneratedPayload", "False", "NotFound", "Secret token-workers-11111111 not found")
				f.set("ReachedIgnitionEndpoint", "False", "NotFound", "Secret token-workers-11111111 not found")
			},
			strings.TrimSuffix(isPaused, " | ") + "; the user data is that of the former configuration, because the NodePool " +
				"was changed after it was paused | " + resume,
		},
		"paused, and the payload is not valid": {
			func(f *Facts) {
				pause(f)
				f.set("ValidGeneratedPayload", "", "InvalidConfig", "failed")
			},
			"problem payload: the payload is not generated (ValidGeneratedPayload is not True): InvalidConfig: failed | " +
				printLogs + "\n" + isPaused + resume,
		},
		"not paused, and the token Secret is missing": {
			func(f *Facts) { f.set("ValidGeneratedPayload", "False", "NotFound", "not found") },
			"problem payload: the payload is not generated (ValidGeneratedPayload is not True): NotFound: not found | " +
				printLogs,
		},
		"configuration is not valid, and no user data": {
			func(f *Facts) {
				f.set("ValidMachineConfig", "False", "ValidationFailed", "no ConfigMap")
				f.UserData, f.Token = nil, nil
			},
			"problem machine-config: the configuration is not valid (ValidMachineConfig is not True): ValidationFailed: no " +
				"ConfigMap | oc -n clusters get nodepool workers -o jsonpath='{.spec.config[*].name}'",
		},
		"payload cannot be generated": { // HyperShift sets no status
			func(f *Facts) { f.set("ValidGeneratedPayload", "", "InvalidConfig", "failed to generate payload") },
			"problem payload: the payload is not generated (ValidGeneratedPayload is not True): InvalidConfig: failed to " +
				"generate payload | " + printLogs,
		},
		"payload is not generated yet": {
			func(f *Facts) {
				f.set("ValidGeneratedPayload", "Unknown", "", "Unable to get status data from token secret")
			},
			"problem payload: the payload is not generated (ValidGeneratedPayload is not True): Unable to get " +
				"status data from " +
				"token secret | " + printLogs,
		},
		"NodePool was not reconciled yet": {
			func(f *Facts) {
				f.NodePool.Annotations, f.NodePool.Status.Conditions, f.NodePool.Status.Version = nil, nil, ""
				f.UserData, f.Token = nil, nil
			},
			"problem user-data: HyperShift has not created the user data yet | " + printConditions,
		},
		"user data does not exist yet": {func(f *Facts) { f.UserData = nil }, isMissing + printConditions},
		"user data of a paused NodePool does not exist": {
			func(f *Facts) {
				pause(f)
				f.UserData = nil
			},
			isMissing + resume + "\n" + isPaused + resume,
		},
		"user data is not valid": {
			func(f *Facts) { f.UserData = []byte(`{"ignition":{"version":"3.2.0"}}`) },
			"problem user-data: Secret user-data-workers-844282c1 in namespace clusters-hosted-a: reading the user data: the " +
				"config is an Ignition config, but not user data: it names no ignition server | " + printConditions,
		},
		"token was revoked": {
			func(f *Facts) { f.Token = nil },
			"problem token: the token is revoked: Secret token-workers-844282c1 does not exist in namespace " +
				"clusters-hosted-a | " +
				printConditions,
		},
		"paused, with the current token": {pause, isPaused + resume},
		"paused, and the token was replaced once": {
			func(f *Facts) {
				pause(f)
				f.setUserData(t, oldToken)
			},
			"warning token: the ignition server has replaced the token of the user data, and accepts it only until " +
				"2026-09-01T16:30:00Z | " + resume + "\n" + isPaused + resume,
		},
		"paused, and the token was replaced twice": {
			func(f *Facts) {
				pause(f)
				f.setUserData(t, otherToken)
			},
			"problem token: the token of the user data is no longer valid: the ignition server has replaced it, " +
				"and HyperShift " +
				"has not written new user data | " + resume + "\n" + isPaused + resume,
		},
		"token was not replaced in time": {
			func(f *Facts) {
				f.Token.Annotations[tokenTimeAnnotation] = now.Add(-12 * time.Hour).Format(time.RFC3339Nano)
			},
			"problem token: the token of the user data expired at 2026-09-01T11:00:00Z | " + printLogs,
		},
		"several problems": {
			func(f *Facts) {
				f.set("ValidReleaseImage", "False", "ValidationFailed", "unauthorized")
				f.NodePool.Status.Version = "4.21.0"
			},
			"problem release-image: the release image is not valid (ValidReleaseImage is not True): ValidationFailed: " +
				"unauthorized | " + printImage + "\nproblem skew: the release 4.21.0 of the NodePool is newer than that of the " +
				"control plane, 4.20.3, which is not supported | " + printImage,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFacts(t)
			test.change(f)
			if diff := cmp.Diff(test.want, summarize(f.Evaluate(now))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
