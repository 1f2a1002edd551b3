// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package docblocks

import (
	"bytes"
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

const repository = "../.."

// netns is the name of a network namespace with an interface eth0.
var netns = fmt.Sprintf("hcp-docblocks-%d", os.Getpid())

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }

// programs are the harmless programs, which blocks run as they are.
var programs = []string{
	"awk", "base64", "cat", "comm", "cut", "date", "findmnt", "grep", "install", "jq", "ls", "mkdir", "openssl", "rm",
	"sed", "sha512sum", "sleep", "sort", "tr", "uname",
}

// hostPath matches a path of the host, which becomes a path in the scratch root.
var hostPath = regexp.MustCompile(`(^|[\s>])(/(?:etc|opt|var|usr|proc|run|srv)\b)`)

// The shell blocks of each page run in their order in one shell, in a directory with the files that the reader
// has. testdata/programs.sh lists the programs that are not run, and the reasons.
func TestControlPlaneShellBlocksRun(t *testing.T) {
	blocks, err := Find(repository)
	must(t, err)
	tools := buildTools(t)
	createObjects(t, blocks)
	createNetwork(t)
	for len(blocks) > 0 {
		page, end := blocks[0].Page, 0
		for end < len(blocks) && blocks[end].Page == page {
			end++
		}
		ofPage := blocks[:end]
		blocks = blocks[end:]
		t.Run(page, func(t *testing.T) {
			dir := newDirectory(t, tools)
			kubectl(t, exampleCSR(t), "replace", "--force", "-f", "-") // pending
			if page == "README.md" {                                   // the quick start gets it
				must(t, os.Remove(filepath.Join(dir, "user-data.ign")))
			}
			runPage(t, dir, tools, ofPage)
			userData := filepath.Join(dir, "user-data.ign")
			if !bytes.Equal(kubetest.ReadFile(t, userData), kubetest.ReadFile(t, kubetest.Plane.UserData)) {
				t.Error("the user data is not that of the NodePool")
			}
			if info, err := os.Stat(userData); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the user data: %v, %v", info.Mode(), err)
			}
		})
	}
}

// runPage runs the shell blocks of a page in a directory, and writes the files that other blocks show.
func runPage(t *testing.T, dir, tools string, blocks []Block) {
	t.Helper()
	root := t.TempDir()
	for _, path := range []string{
		"etc/fapolicyd/rules.d", "etc/hcp-node-agent", "etc/sysconfig", "etc/sysctl.d",
		"etc/yum.repos.d", "opt",
		"proc/sys/crypto", "run/hcp-node-agent/metrics", "var/lib/cni", "var/lib/containers", "var/lib/kubelet/pki",
	} {
		must(t, os.MkdirAll(filepath.Join(root, path), 0o700))
	}
	kubetest.WriteFile(t, filepath.Join(root, "proc/sys/crypto/fips_enabled"), []byte("0\n"))
	ca := certtest.NewCA(t, "kubelet")
	for _, name := range []string{"client", "server"} {
		kubetest.WriteFile(t, filepath.Join(root, "var/lib/kubelet/pki/kubelet-"+name+"-current.pem"),
			ca.Issue(t, certtest.NewKey(t), &x509.Certificate{Subject: pkix.Name{CommonName: "system:node:worker-7"}}))
	}

	programsFile, err := filepath.Abs("testdata/programs.sh")
	must(t, err)
	facts, err := filepath.Abs(repository + "/cmd/node-agent/testdata/plan/facts.json")
	must(t, err)
	script := "set -eE -o pipefail\ntrap 'echo \"$block: failed: $BASH_COMMAND\" >>\"$root/failed\"' ERR\nsource " +
		programsFile + "\n"
	for _, block := range blocks {
		switch {
		case block.Language == Shell:
			script += fmt.Sprintf("block=%s\n%s\n", block, hostPath.ReplaceAllString(block.Text, "$1$$root$2"))
		case block.File != "":
			script += fmt.Sprintf("cat >%s <<'END-OF-FILE'\n%sEND-OF-FILE\n", block.File, block.Text)
		}
	}
	command := exec.CommandContext(t.Context(), "bash", "-c", script)
	command.Dir = dir
	absolute, err := filepath.Abs(repository)
	must(t, err)
	command.Env = []string{
		"PATH=" + linkPrograms(t), "HOME=" + os.Getenv("HOME"), "KUBECONFIG=" + kubetest.Plane.Kubeconfig,
		"tools=" + tools + ":" + os.Getenv("PATH"), "repository=" + absolute, "root=" + root, "netns=" + netns,
		"facts=" + facts,
	}
	out, err := command.CombinedOutput()
	failed, readErr := os.ReadFile(filepath.Join(root, "failed"))
	if err != nil || readErr == nil || strings.Contains(string(out), "\nfailed: ") { // a page prints it in a loop
		t.Errorf("%v\n%s%s", err, out, failed)
	}
	t.Logf("%s", out)
}

// newDirectory returns a directory with the files of an administrator: what a build contains, user data, payload,
// kubeconfigs, and join tokens.
func newDirectory(t *testing.T, tools string) string {
	t.Helper()
	dir, plane := t.TempDir(), kubetest.Plane
	absolute, err := filepath.Abs(repository)
	must(t, err)
	must(t, os.CopyFS(filepath.Join(dir, "deploy"), os.DirFS(filepath.Join(absolute, "deploy"))))
	for name, source := range map[string]string{
		"user-data.ign": plane.UserData, "worker.ign": plane.Payload, "root-ca.crt": plane.MachineConfigCA,
		"hosted.kubeconfig": plane.Kubeconfig, "management.kubeconfig": plane.Kubeconfig,
	} {
		kubetest.WriteFile(t, filepath.Join(dir, name), kubetest.ReadFile(t, source))
	}
	for name, content := range map[string]string{
		"pull-secret.json":                   `{"auths":{}}`,
		"rack-1.txt":                         "worker-8.example.com 192.0.2.8\n",
		"hosts.txt":                          "worker-1.example.com 192.0.2.11\n",
		"build/rpm/repo/hcp-node-agent.repo": "baseurl=file:///a/build/rpm/repo\n",
		"startup-script.sh":                  "",
		"hcp-node-agent":                     "a binary",
	} {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		kubetest.WriteFile(t, path, []byte(content))
	}
	command := exec.CommandContext(t.Context(), filepath.Join(tools, "hcp-node-admin"),
		"enroll", "--offline", "workers", "worker-0", "--hosted-kubeconfig", "hosted.kubeconfig")
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// buildTools builds the commands of the project, and returns the directory with them and kubectl.
func buildTools(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, source := range map[string]string{"hcp-node-agent": "node-agent", "hcp-node-admin": "node-admin"} {
		command := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, name), "./cmd/"+source)
		command.Dir = repository
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	bin, err := bed.Build(t.Context())
	must(t, err)
	must(t, os.Symlink(filepath.Join(bin, "kubectl"), filepath.Join(dir, "kubectl")))
	return dir
}

func linkPrograms(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range programs {
		path, err := exec.LookPath(name)
		must(t, err)
		must(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	return dir
}

func kubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, err := bed.Kubectl(t.Context(), kubetest.Plane.Kubeconfig, input, args...)
	must(t, err)
	return out
}

// createNetwork creates the network namespace.
func createNetwork(t *testing.T) {
	t.Helper()
	ip := func(ctx context.Context, line string) error {
		out, err := exec.CommandContext(ctx, "ip", strings.Fields(line)...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("ip %s: %w: %s", line, err, out)
		}
		return err
	}
	must(t, ip(t.Context(), "netns add "+netns))
	t.Cleanup(func() {
		if err := ip(context.Background(), "netns delete "+netns); err != nil {
			t.Error(err)
		}
	})
	must(t, ip(t.Context(), "-n "+netns+" tuntap add eth0 mode tap"))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
