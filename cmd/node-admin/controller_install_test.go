// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The manifests that install prints are the objects of deploy, in the order of the kustomizations.
func TestControllerInstallPrintsDeploy(t *testing.T) {
	for args, files := range map[string]string{
		"--in hosted": "hosted-base/namespace hosted-base/crd hosted-base/rbac hosted/deployment " +
			"hosted/networkpolicy hosted-renewals/rbac",
		"--in hosted --monitoring": "hosted-base/namespace hosted-base/crd hosted-base/rbac hosted/deployment " +
			"hosted/networkpolicy monitoring/controller/networkpolicy monitoring/controller/podmonitor " +
			"monitoring/controller/prometheusrule hosted-renewals/rbac",
		"--cluster hosted": "hosted-base/namespace hosted-base/crd hosted-base/rbac hosted-token/token " +
			"hosted-renewals/rbac",
		"hosted -n clusters --cluster management": "management/namespace management/deployment " +
			"management/networkpolicy",
		"--cluster hosted --publish": "hosted-base/namespace hosted-base/crd hosted-base/rbac hosted-token/token " +
			"hosted-publish/rbac hosted-renewals/rbac",
	} {
		var content []byte
		for _, file := range strings.Fields(files) {
			one, err := os.ReadFile("../../deploy/" + file + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			content = slices.Concat(content, []byte("---\n"), one)
		}
		want, got := decodeObjects(t, content), decodeObjects(t, []byte(printManifests(t, args)))
		if strings.Contains(args, "--monitoring") {
			dashboard, err := os.ReadFile("../../deploy/monitoring/controller/dashboard.json")
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(got, func(object map[string]any) bool { return object["kind"] == "ConfigMap" })
			if at < 0 || got[at]["data"].(map[string]any)["dashboard.json"] != string(dashboard) {
				t.Fatalf("the ConfigMap of the dashboard is not among %v", got)
			}
			got = slices.Delete(got, at, at+1)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-deploy +printed):\n%s", args, diff)
		}
	}
}

// decodeObjects returns the objects of YAML documents.
func decodeObjects(t *testing.T, content []byte) (all []map[string]any) {
	t.Helper()
	for decoder := utilyaml.NewYAMLToJSONDecoder(bytes.NewReader(content)); ; {
		var object map[string]any
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if object != nil {
			all = append(all, object)
		}
	}
}

// printManifests runs controller install --output yaml.
func printManifests(t *testing.T, args string) string {
	t.Helper()
	got := runCommandLine(t, append([]string{"controller", "install", "-o", "yaml"}, strings.Fields(args)...)...)
	if got.Code != report.Success || got.Err != "" {
		t.Fatalf("%s: %+v", args, got)
	}
	return got.Out
}

// The names of a HostedCluster replace those of deploy/management-publish, also if they are its words in other places.
func TestControllerInstallPublishNames(t *testing.T) {
	const flags = "--cluster management --publish"
	before := strings.Split(printManifests(t, flags), "\n")
	after := strings.Split(printManifests(t, "clusters "+flags+" -n hcp-node-admin --controller-namespace hosted"), "\n")
	if len(before) != len(after) {
		t.Fatalf("%d lines became %d", len(before), len(after))
	}
	changes := map[string]int{}
	for i := range before {
		if before[i] != after[i] {
			changes[strings.TrimSpace(before[i])+" > "+strings.TrimSpace(after[i])]++
		}
	}
	const role = "name: hcp-node-admin-publisher-hosted > name: hcp-node-admin-publisher-clusters"
	want := map[string]int{
		"- --hosted-cluster=hosted > - --hosted-cluster=clusters":                 1,
		"- --nodepool-namespace=clusters > - --nodepool-namespace=hcp-node-admin": 1,
		"name: hcp-node-admin > name: hosted":                                     1,
		"namespace: hcp-node-admin > namespace: hosted":                           5,
		"namespace: clusters > namespace: hcp-node-admin":                         2,
		"namespace: clusters-hosted > namespace: hcp-node-admin-clusters":         2,
		"- hosted > - clusters":                                                   1,
		role:                                                                      6,
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("changed lines (-want +got):\n%s", diff)
	}
}

// Settings change only their own lines.
func TestControllerInstallSettings(t *testing.T) {
	const settings = " --image registry.internal:5000/admin@sha256:" +
		"0000000000000000000000000000000000000000000000000000000000000000 --replicas 3"
	for args, want := range map[string]int{
		"--in hosted": 2, "--cluster hosted": 0,
		"--cluster management": 5, // and the namespace of three objects
	} {
		test := args + settings
		if args == "--cluster management" {
			test += " --controller-namespace other"
		}
		before, after := strings.Split(printManifests(t, args), "\n"), strings.Split(printManifests(t, test), "\n")
		if len(before) != len(after) {
			t.Fatalf("%s: %d lines became %d", test, len(before), len(after))
		}
		var changed []string
		for i := range before {
			if before[i] != after[i] {
				changed = append(changed, after[i])
			}
		}
		if len(changed) != want {
			t.Errorf("%s changes %q", test, changed)
		}
		for _, line := range changed {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch {
			case key == "image" && strings.HasPrefix(value, "registry.internal:5000/admin@sha256:0000"):
			case key == "replicas" && value == "3":
			case (key == "namespace" || key == "name") && value == "other":
			default:
				t.Errorf("%s changes the line %q", test, line)
			}
		}
	}
}

func TestControllerInstallCommandLines(t *testing.T) {
	const see = "\nsee: hcp-node-admin controller install --help\n"
	admin().CheckUsageErrors(t, map[string]string{
		"controller": "hcp-node-admin controller: a subcommand is required\n" +
			"see: hcp-node-admin controller --help\n",
		"controller install":     "hcp-node-admin controller install: the name of one HostedCluster is required" + see,
		"controller install a b": "hcp-node-admin controller install: the name of one HostedCluster is required" + see,
		"controller install -o yaml": "hcp-node-admin controller install: there are manifests for two clusters: select one " +
			"with --cluster management or hosted" + see,
		"controller install --in hosted --cluster management -o yaml": "hcp-node-admin controller install: --cluster " +
			"management: must be hosted, or management with --in management" + see,
		"controller install a --cluster hosted": "hcp-node-admin controller install: --cluster requires --output yaml" + see,
		"controller install a --replicas 0":     "hcp-node-admin controller install: --replicas must be at least 1" + see,
		"controller install a --image A:B:C": "hcp-node-admin controller install: --image: could not parse reference: A:B:C" +
			see,
		"controller install a --controller-namespace A": "hcp-node-admin controller install: --controller-namespace: a " +
			"lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with " +
			"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
			"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')" + see,
		"controller install a --in hosted --controller-namespace b": "hcp-node-admin controller install: " +
			"--controller-namespace requires --in management" + see,
		"controller install a --in hosted --publish": "hcp-node-admin controller install: --publish requires --in " +
			"management: a controller in the hosted cluster has no credential of the management cluster" + see,
		"controller install a --publish --cluster hosted -o yaml": "hcp-node-admin controller install: --publish and " +
			"--output yaml require --namespace, that of the HostedCluster" + see,
		"controller uninstall": "hcp-node-admin controller uninstall: the name of one HostedCluster is required\n" +
			"see: hcp-node-admin controller uninstall --help\n",
		"controller uninstall a --force": "hcp-node-admin controller uninstall: --force requires --crd\n" +
			"see: hcp-node-admin controller uninstall --help\n",
	})
}

func TestControllerRunPublishCommandLines(t *testing.T) {
	withoutKubeconfig(t)
	const run, see = "hcp-node-admin controller run: ", "\nsee: hcp-node-admin controller run --help\n"
	admin().CheckUsageErrors(t, map[string]string{
		"controller run --nodepool-namespace a": run + "--nodepool-namespace and --management-kubeconfig require " +
			"--hosted-cluster" + see,
		"controller run --management-kubeconfig a": run + "--nodepool-namespace and --management-kubeconfig require " +
			"--hosted-cluster" + see,
		"controller run --hosted-cluster a": run + "--hosted-cluster requires --nodepool-namespace" + see,
		"controller run --hosted-cluster a --nodepool-namespace b --management-kubeconfig -": run +
			"--management-kubeconfig must be a file" + see,
	})
}
