// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package adapt

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// TestControlPlaneStandalone fetches from the machine-config server of the test environment,
// with the cluster's own user data and with single values. Only the given CA is trusted.
func TestControlPlaneStandalone(t *testing.T) {
	c, err := bed.Start(t.Context(), bed.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	read := func(name string) []byte {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	file, err := ignition.ParseUserData(read(c.WorkerUserData))
	if err != nil {
		t.Fatal(err)
	}
	values, err := ignition.NewUserData(ignition.Values{Endpoint: c.MachineConfigURL, CA: read(c.MachineConfigCA)})
	if err != nil {
		t.Fatal(err)
	}
	want, err := ignition.LoadPayload(read(c.WorkerConfig))
	if err != nil {
		t.Fatal(err)
	}
	fetcher := ignition.Fetcher{ConnectTo: c.MachineConfigForward}
	for name, userData := range map[string]*ignition.UserData{"user data": file, "values": values} {
		if probe, err := fetcher.Probe(t.Context(), userData); err != nil || probe.Temporary != nil {
			t.Errorf("%s: probing: %v, %v", name, err, probe.Temporary)
		}
		payload, err := fetcher.Fetch(t.Context(), userData)
		if err != nil {
			t.Fatal(err)
		}
		if payload.Version != "3.4.0" || userData.IsHosted() || userData.HasToken() ||
			payload.FileCount() != want.FileCount() || payload.UnitCount() != want.UnitCount() {
			t.Errorf("%s: spec %s, %s; want %s", name, payload.Version, payload, want)
		}
		checkAdaptedAsServed(t, payload)
	}
	requests := string(read(filepath.Join(c.Logs, "machine-config-server.log")))
	if n := strings.Count(requests, `GET /config/worker Accept: "`+fetch.Accept+
		`" User-Agent: "hcp-node-agent" Authorization: false: 200`); n != 2 {
		t.Errorf("log of the server:\n%s", requests)
	}

	pool, err := file.Override(ignition.Values{Endpoint: strings.Replace(c.MachineConfigURL, "worker", "gpu", 1)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ignition.Fetcher{ConnectTo: c.MachineConfigForward, RetryTimeout: 1}.Fetch(t.Context(), pool)
	checkStandalone(t, err, report.Failed, "no configuration for pool gpu (HTTP 500)", "oc get machineconfigpools")
	api, err := ignition.NewUserData(ignition.Values{Endpoint: c.MachineConfigURL, CA: read(c.ClusterCA)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = fetcher.Fetch(t.Context(), api)
	checkStandalone(t, err, report.Refused, "does not sign the machine-config server", "worker-user-data")
}

// checkAdaptedAsServed fails the test unless the plan has every file of a standalone cluster's
// payload with its content and mode, and every unit with its enablement. The
// machine-config-daemon of that cluster compares them.
func checkAdaptedAsServed(t *testing.T, payload *ignition.Payload) {
	t.Helper()
	in := plainHost()
	in.Facts, in.Hosted, in.NodePool = hostinfo.Facts{}, false, ""
	in.HasUnit = func(string) bool { return false }
	in.UnitFileState = func(string) string { return "" }
	plan, err := ToHost(payload, in)
	if err != nil {
		t.Fatal(err)
	}
	planned := map[string]int{}
	for i, change := range plan.Files {
		planned[change.Target] = i
	}
	for _, file := range payload.Config.Storage.Files {
		i, found := planned[file.Path]
		if file.Path == ignition.MachineConfigPath {
			if found {
				t.Error("the file that marks a first boot is planned")
			}
			continue
		}
		content, mode, _ := payload.File(file.Path)
		if !found || !bytes.Equal(plan.Files[i].Desired.Content, content) || *plan.Files[i].Desired.Mode != mode {
			t.Errorf("%s is planned: %t, and not as served", file.Path, found)
		}
	}
	for _, unit := range payload.Config.Systemd.Units {
		for _, dropin := range unit.Dropins {
			name := unitDirectory + "/" + unit.Name + ".d/" + dropin.Name
			i, found := planned[name]
			if wanted := ptr.Deref(dropin.Contents, ""); wanted != "" &&
				(!found || string(plan.Files[i].Desired.Content) != wanted) {
				t.Errorf("%s is planned: %t, and not as served", name, found)
			}
		}
		if ptr.Deref(unit.Contents, "") == "" {
			continue
		}
		if i, found := planned[unitDirectory+"/"+unit.Name]; !found ||
			string(plan.Files[i].Desired.Content) != *unit.Contents {
			t.Errorf("%s is planned: %t, and not as served", unit.Name, found)
		}
		for _, change := range append(plan.Units, plan.Kubelet...) {
			if change.Target == unit.Name && (change.Desired.Enabled == "enabled") != *unit.Enabled {
				t.Errorf("%s will be %s", unit.Name, change.Desired.Enabled)
			}
		}
	}
}

func checkStandalone(t *testing.T, err error, code report.Code, want, remedy string) {
	t.Helper()
	reporttest.CheckFailure(t, err, code, want)
	reporttest.CheckStandaloneRemedy(t, err, remedy)
}
