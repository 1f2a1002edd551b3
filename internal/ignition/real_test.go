package ignition

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// realPayloads are payloads and stubs that a cluster has served. They are not
// part of the project; where they are laid beside it, they are tested too.
func realPayloads(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob("../../../shared/payloads/" + pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no real payloads are laid beside the project")
	}
	return files
}

func TestRealStubs(t *testing.T) {
	for _, name := range realPayloads(t, "stub*.ign") {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		stub, err := ParseStub(raw)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := stub.Validate(); err != nil || !stub.HasToken() || stub.NodePool() == "" || stub.ConfigHash() == "" {
			t.Errorf("%s: %v, %v", name, stub, err)
		}
		again, err := stub.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseStub(again); err != nil {
			t.Errorf("%s: not read back: %v", name, err)
		}
	}
}

func TestRealPayloads(t *testing.T) {
	for _, name := range realPayloads(t, "worker-*.ign") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			p := readPayload(t, name)
			if len(p.remote) > 0 {
				if _, err := Adapt(p, plainHost()); err == nil || !strings.Contains(err.Error(), "/etc/example.d/remote.txt") {
					t.Errorf("a remote file was not refused by name: %v", err)
				}
				p = withoutRemote(t, p)
			}
			if server, ca, err := p.APIServer(); err != nil || !strings.HasPrefix(server, "https://") || checkCA(ca) != nil {
				t.Errorf("API server %s, %v", server, err)
			}
			plan, err := Adapt(p, plainHost())
			if err != nil {
				t.Fatal(err)
			}
			checkReal(t, p, plan)
		})
	}
}

// withoutRemote is the payload without the files whose content is elsewhere.
func withoutRemote(t *testing.T, p *Payload) *Payload {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal(p.Raw, &document); err != nil {
		t.Fatal(err)
	}
	storage := document["storage"].(map[string]any)
	storage["files"] = slices.DeleteFunc(storage["files"].([]any), func(file any) bool {
		contents, _ := file.(map[string]any)["contents"].(map[string]any)
		source, _ := contents["source"].(string)
		return strings.HasPrefix(source, "https:")
	})
	raw, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	local, err := LoadPayload(raw)
	if err != nil {
		t.Fatal(err)
	}
	return local
}

func checkReal(t *testing.T, p *Payload, plan *Plan) {
	t.Helper()
	for subject, want := range map[string]string{
		encapsulatedPath:                          "skip encapsulated-config",
		kubeconfigPath:                            "change secret-mode",
		"/etc/mcs-machine-config-content.json":    "change secret-mode",
		"machine-config-daemon-pull.service":      "skip os-image",
		"machine-config-daemon-firstboot.service": "skip os-image",
		"firstboot-osupdate.target":               "skip os-image",
		"nodeip-configuration.service":            "change node-ip",
		"wait-for-primary-ip.service":             "change wait-for-node-ip",
		"nmstate-configuration.service":           "change nmstate-bridge",
		"ovs-configuration.service":               "report ovs-configuration",
		"apiserver-ip.service":                    "add api-address",
		"zincati.service":                         "skip not-installed",
		kernelPath:                                "add kernel-parameters",
		"user core":                               "skip core-user-absent",
		"kernel argument psi=0":                   "unmet kernel-argument",
	} {
		if got := ruleFor(plan, subject); got != want {
			t.Errorf("%s: %q, want %q", subject, got, want)
		}
	}
	// Whatever no rule names is written as the payload has it.
	wanted := map[string]ledger.Change{}
	for _, change := range plan.Files {
		wanted[change.Target] = change
	}
	for _, file := range p.Config.Storage.Files {
		change, found := wanted[file.Path]
		if !found {
			if file.Path != encapsulatedPath {
				t.Errorf("%s is not in the plan", file.Path)
			}
			continue
		}
		content, mode, _ := p.File(file.Path)
		if string(change.Want.Content) != string(content) || (*change.Want.Mode != mode && ruleFor(plan, file.Path) == "") {
			t.Errorf("%s is not planned as the payload has it", file.Path)
		}
	}
	if len(plan.Kubelet) != 1 || slices.ContainsFunc(plan.Units, func(c ledger.Change) bool { return c.Target == KubeletUnit }) {
		t.Error("kubelet's enablement is not apart")
	}
	if !slices.ContainsFunc(plan.Units, func(c ledger.Change) bool { return c.Target == "kubelet-auto-node-size.service" }) {
		t.Error("kubelet's node-sizing.env would not be made")
	}
	if len(plan.MissingUnits) == 0 || !strings.HasPrefix(plan.MissingUnits[0], "openvswitch.service (enabled by the payload; package openvswitch3.Y") {
		t.Errorf("missing units: %q", plan.MissingUnits)
	}
}
