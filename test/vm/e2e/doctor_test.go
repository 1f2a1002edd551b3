//go:build vm

package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// testDoctorBeforeJoin runs doctor on a machine that has never joined, without and with user data. It
// must find no obstacle to a join.
func testDoctorBeforeJoin(ctx context.Context, t *testing.T) {
	t.Helper()
	checkContains(t, runAgent(ctx, t, report.Success, "doctor").Stdout, "has not joined a cluster", "the ignition server was not checked")
	result := runAgent(ctx, t, report.Success, "doctor --user-data "+testenv.UserDataPath)
	if strings.Contains(result.Stdout, "was not asked") {
		t.Error("with user data the ignition server was not checked")
	}
	if left := mustOutput(ctx, t, "ls /var/lib/hcp-node-agent 2>/dev/null || true"); left != "" {
		t.Errorf("it left %s", left)
	}
}

// testDoctorOfHealthyNode runs doctor on a healthy node.
func testDoctorOfHealthyNode(ctx context.Context, t *testing.T) {
	t.Helper()
	out := runAgent(ctx, t, report.Success, "doctor").Stdout
	checkContains(t, out, "joined NodePool clusters/", "running: NetworkManager.service, openvswitch.service, crio.service, kubelet.service", "eth0 is in br-ex with 192.0.2.",
		")", "kubelet's client certificate of CN=system:node:worker-0", "kubelet's serving certificate of CN=system:node:worker-0",
		"ok       validate ", "Node worker-0 is Ready and schedulable")
	for _, text := range []string{"problem ", "the check failed", "was left", "not seen"} {
		if strings.Contains(out, text) {
			t.Errorf("of a node that is well it says %q", text)
		}
	}
	asUser := mustOutput(ctx, t, "setpriv --reuid 65534 --regid 65534 --clear-groups hcp-node-agent doctor")
	checkContains(t, asUser, "some checks require root and are limited", "root is required: reading the state of the join")
}

// canaryFile is a file with a secret that no name identifies as one.
const canaryFile = "/etc/systemd/system/crio.service.d/99-canary.conf"

// testDoctorOfStoppedKubelet runs doctor on a node whose kubelet does not run, and creates a support bundle,
// which must contain no secret of the host. It starts kubelet again.
func testDoctorOfStoppedKubelet(ctx context.Context, t *testing.T) {
	t.Helper()
	mustOutput(ctx, t, "systemctl stop kubelet")
	out := runAgent(ctx, t, report.Failed, "doctor").Stdout
	checkContains(t, out, "problem  "+stepLine("units")+"  kubelet.service does not run (inactive", "systemctl start kubelet")

	mustOutput(ctx, t, `umask 077; cd /root
		jq -r '.ignition.config.merge[].httpHeaders[] | select(.name == "Authorization") | .value' user-data.ign | sed 's/^Bearer //' >needles
		jq -r '.auths[] | .auth, (.auth | @base64d), (.auth | @base64d | sub("^[^:]*:"; ""))' /var/lib/kubelet/config.json | grep . >>needles
		sed -n '/PRIVATE KEY/,/PRIVATE KEY/p' /var/lib/kubelet/pki/kubelet-client-current.pem | grep -v -- ----- >>needles
		sed 's/^/# /' needles >`+canaryFile)
	var document struct {
		ExitCode report.Code
		Phase    string
		Bundle   *struct {
			Files []struct {
				Name, Missing string
				Bytes         int64
			}
		}
	}
	must(t, json.Unmarshal([]byte(runAgent(ctx, t, report.Failed, "doctor --bundle /root/b.tar.gz --output json").Stdout), &document))
	if document.ExitCode != report.Failed || document.Phase != "joined" || document.Bundle == nil {
		t.Errorf("%+v", document)
	}
	there := map[string]bool{}
	for _, piece := range document.Bundle.Files {
		there[piece.Name] = piece.Missing == "" && piece.Bytes > 0
	}
	for _, name := range []string{
		"doctor.txt", "doctor.json", "state/join.json", "state/ledger.json", "journal/kubelet.log", "journal/crio.log", "journal/networkmanager.log",
		"units/show.txt", "units/etc/systemd/system/kubelet.service", "network/addresses.json", "network/openvswitch.txt", "network/nm-devices.txt",
		"certificates.json", "cluster/node.json", "cluster/csr.json", "units" + canaryFile,
	} {
		if !there[name] {
			t.Errorf("the bundle has no %s", name)
		}
	}
	found := mustOutput(ctx, t, `cd /root; stat -c '%a' b.tar.gz; mkdir b; tar -xzf b.tar.gz -C b; [ "$(wc -l <needles)" -ge 5 ] && echo there are needles
		grep -rlFf needles /root/b || echo and none of them is in it; grep -c '^# \*\*\*$' b/units`+canaryFile+`; jq -r .metadata.name b/cluster/node.json
		jq -r .exitCode b/doctor.json; jq -r .kind b/manifest.json; hcp-node-agent doctor --bundle /root/b.tar.gz 2>&1 | head -n1; rm -rf b b.tar.gz needles `+canaryFile)
	lines := strings.SplitN(found, "\n", 5)
	want := []string{"600", "there are needles", "and none of them is in it"}
	if len(lines) < 5 || strings.Join(lines[:3], "\n") != strings.Join(want, "\n") || lines[3] == "0" ||
		lines[4] != "worker-0\n1\nBundleManifest\nhcp-node-agent doctor: /root/b.tar.gz already exists; a bundle never replaces a file" {
		t.Errorf("the bundle: %s", found)
	}
	mustOutput(ctx, t, "systemctl start kubelet")
}
