// SPDX-License-Identifier: Apache-2.0

//go:build differential

package differential

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_2"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/rhcos"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

const (
	authorization = "Bearer c2VjcmV0"
	agentBinary   = "\x7fELF, a binary of the agent"
)

// poolPayload is the payload of a NodePool, which has its own unit and drop-in for kubelet.
const poolPayload = `{"ignition":{"version":"3.2.0"},` +
	`"storage":{"files":[{"path":"/etc/of-the-payload","mode":384,"contents":{"source":"data:,payload"}}]},` +
	`"systemd":{"units":[{"name":"kubelet.service","enabled":true,"contents":"[Service]\nExecStart=/bin/kubelet\n",` +
	`"dropins":[{"name":"20-payload.conf","contents":"[Unit]\n"}]}]}}`

// TestFirstBootOfRHCOS runs Ignition with the user data that hcp-node-admin writes for a host.
func TestFirstBootOfRHCOS(t *testing.T) {
	pool := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != authorization || r.URL.Path != "/ignition" {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, poolPayload)
	}))
	defer pool.Close()
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, agentBinary)
	}))
	defer files.Close()

	t.Run("the agent is downloaded", func(t *testing.T) {
		host := newRHCOSHost(t, pool, "--agent-url", files.URL+"/hcp-node-agent", "--agent-sha512", sum(agentBinary))
		if err := host.boot(t); err != nil {
			t.Fatal(err)
		}
		host.checkCommonFiles(t)
		host.checkFile(t, rhcos.AgentPath, agentBinary, 0o755)
		host.checkFile(t, rhcos.AgentServicePath, rhcos.AgentService(), 0o644)
	})
	t.Run("the image contains the agent", func(t *testing.T) {
		host := newRHCOSHost(t, pool)
		if err := host.boot(t); err != nil {
			t.Fatal(err)
		}
		host.checkCommonFiles(t)
		host.checkMissing(t, rhcos.AgentPath, rhcos.AgentServicePath)
	})
	t.Run("the binary has another hash", func(t *testing.T) {
		host := newRHCOSHost(t, pool, "--agent-url", files.URL, "--agent-sha512", sum("another binary"))
		if err := host.boot(t); err == nil || !strings.Contains(err.Error(), sum("another binary")) {
			t.Errorf("Ignition does not fail with the hash: %v", err)
		}
		host.checkMissing(t, rhcos.AgentPath)
	})
	t.Run("the token of the user data is wrong", func(t *testing.T) {
		host := newRHCOSHost(t, pool)
		host.userData = strings.Replace(host.userData, authorization, "Bearer wrong", 1)
		if err := host.boot(t); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
			t.Errorf("Ignition does not fail with the status 401: %v", err)
		}
		host.checkMissing(t, "/etc/hcp-node-agent/node.token")
	})
}

// rhcosHost is a host before its first boot.
type rhcosHost struct {
	root, userData, token string
}

// newRHCOSHost returns a host, and its user data by hcp-node-admin with these flags.
func newRHCOSHost(t *testing.T, pool *httptest.Server, flags ...string) rhcosHost {
	t.Helper()
	dir := t.TempDir()
	ca, input := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "user-data.ign")
	for path, content := range map[string][]byte{
		ca:    certtest.NewCA(t, "ca").PEM,
		input: []byte(poolUserData(t, pool)),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("go", append([]string{
		"run", "../../cmd/node-admin", "enroll", "--offline", "workers", "worker-7", "--ca", ca,
		"--embed-user-data", input, "--format", "ignition", "--output-dir", dir,
	}, flags...)...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("hcp-node-admin: %v\n%s", err, output)
	}
	tokenPath, _ := enrollment.Paths(dir, "worker-7")
	userData := readString(t, enrollment.HostPath(dir, "worker-7", ".ign"))
	host := rhcosHost{userData: userData, token: readString(t, tokenPath)}
	if _, found, err := v3_2.Parse([]byte(host.userData)); err != nil || len(found.Entries) > 0 {
		t.Fatalf("Ignition's parser of spec 3.2: %v, %s", err, found)
	}
	host.root = newTree(t, scenario{tree: []Node{
		{Path: "/var/usrlocal/bin/"},
		{Path: "/usr/local", Link: "../var/usrlocal"},
	}})
	return host
}

// poolUserData returns user data as HyperShift writes it.
func poolUserData(t *testing.T, pool *httptest.Server) string {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pool.Certificate().Raw})
	source, err := json.Marshal(pool.URL + "/ignition")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"ignition":{"version":"3.2.0","config":{"merge":[{"source":%s,"httpHeaders":[`+
		`{"name":"Authorization","value":%q}]}]},"security":{"tls":{"certificateAuthorities":[{"source":%q}]}}}}`,
		source, authorization, data(string(ca)))
}

func (h rhcosHost) boot(t *testing.T) error {
	t.Helper()
	return oracle.Boot(t.Context(), writeConfig(t, h.userData), h.root, t.TempDir())
}

// checkCommonFiles checks what does not depend on the origin of the agent.
func (h rhcosHost) checkCommonFiles(t *testing.T) {
	t.Helper()
	h.checkFile(t, "/etc/hcp-node-agent/node.token", h.token, 0o600)
	h.checkFile(t, rhcos.KubeletDropInPath, rhcos.KubeletDropIn, 0o644)
	h.checkFile(t, "/etc/of-the-payload", "payload", 0o600)
	h.checkFile(t, "/etc/systemd/system/kubelet.service", "[Service]\nExecStart=/bin/kubelet\n", 0o644)
	h.checkFile(t, "/etc/systemd/system/kubelet.service.d/20-payload.conf", "[Unit]\n", 0o644)
	if info, err := os.Stat(filepath.Join(h.root, "/etc/hcp-node-agent")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory of the join token: %v, %v", info, err)
	}
	preset := "\n" + readString(t, filepath.Join(h.root, "/etc/systemd/system-preset/20-ignition.preset"))
	for _, unit := range []string{"hcp-node-agent.service", "kubelet.service"} {
		if !strings.Contains(preset, "\nenable "+unit+"\n") {
			t.Errorf("%s is not enabled by the preset:%s", unit, preset)
		}
	}
}

func (h rhcosHost) checkFile(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if got := readString(t, filepath.Join(h.root, path)); got != content {
		t.Errorf("%s contains\n%s\nnot\n%s", path, got, content)
	}
	if info, err := os.Stat(filepath.Join(h.root, path)); err != nil || info.Mode() != mode {
		t.Errorf("%s: %v, %v, not the mode %o", path, info.Mode(), err, mode)
	}
}

func (h rhcosHost) checkMissing(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := os.Lstat(filepath.Join(h.root, path)); !os.IsNotExist(err) {
			t.Errorf("%s exists, or cannot be checked: %v", path, err)
		}
	}
}

func readString(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
