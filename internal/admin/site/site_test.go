// SPDX-License-Identifier: Apache-2.0

package site

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	header    = "apiVersion: hcp-node-agent.io/v1alpha1\nkind: SiteConfig\n"
	joinToken = "# secret\nkind: JoinToken\nprivateKey: |\n  -----BEGIN PRIVATE KEY-----\n  KEY\n" //nolint:gosec // no key
	armor     = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDMEaA==\n=aBcD\n-----END PGP PUBLIC KEY BLOCK-----\n"
)

// readExample returns examples/site.yaml with a certificate.
func readExample(t *testing.T) *Config {
	t.Helper()
	example, err := os.ReadFile("../../../examples/site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile("testdata/ca.crt")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse([]byte(string(example) + "trustedCAs: |\n  " + strings.ReplaceAll(string(ca), "\n", "\n  ")))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The files of a host of the example.
func TestGolden(t *testing.T) {
	c := readExample(t)
	c.Repositories[1].GPGKey = armor
	for name, render := range map[string]func(string, []byte) ([]byte, error){
		"worker-7.cloud-init.yaml": c.CloudInit, "worker-7.ks": c.Kickstart,
	} {
		got, err := render("worker-7.example.com", []byte(joinToken))
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// runScript runs a script with stand-ins for the programs that change a host, of which the failing one fails. It writes
// the files below a directory. It returns the directory and the calls.
func runScript(t *testing.T, script, failing string) (dir string, calls []string, err error) {
	t.Helper()
	dir = t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "calls")
	for _, name := range []string{"update-ca-trust", "systemctl", "subscription-manager", "rpm", "dnf", "hostname"} {
		program := "#!/bin/sh\necho ${0##*/} \"$@\" >>" + log + "\ncase \"${0##*/} $1\" in \"rpm --quiet\"|\"" +
			"subscription-manager identity\"|'" + failing + "') exit 1;; esac\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(program), 0o700); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "/bin/sh")
	command.Stdin = strings.NewReader(strings.NewReplacer("file 0644 /", "file 0644 "+dir+"/", "file 0600 /",
		"file 0600 "+dir+"/", ">/etc/hostname", ">"+dir+"/etc/hostname").Replace(script))
	command.Env = []string{"PATH=" + bin + ":/usr/bin:/bin"}
	out, err := command.CombinedOutput()
	content, readErr := os.ReadFile(log)
	if readErr != nil && err == nil {
		t.Fatalf("no program was run:\n%s", out)
	}
	if readErr != nil {
		return dir, nil, err
	}
	return dir, strings.Split(strings.TrimSpace(string(content)), "\n"), err
}

// The script writes the same files as cloud-init, registers the host before it installs the agent, and ends at the
// first error.
func TestScript(t *testing.T) {
	c := readExample(t)
	script, err := c.Script("worker-7", []byte(joinToken))
	if err != nil {
		t.Fatal(err)
	}
	dir, calls, err := runScript(t, string(script), "")
	if err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, call := range calls {
		words := strings.Fields(call)
		programs = append(programs, strings.Join(words[:min(2, len(words))], " "))
	}
	want := []string{
		"update-ca-trust", "systemctl try-restart", "subscription-manager config", "subscription-manager identity",
		"subscription-manager register", "subscription-manager repos", "rpm --quiet", "dnf -y", "systemctl start",
	}
	if diff := cmp.Diff(want, programs); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	cloudInit, err := c.CloudInit("worker-7", []byte(joinToken))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Hostname, FQDN string
		Files          []struct{ Path, Permissions, Content string } `json:"write_files"`
		RunCmd         []string
	}
	if err := yaml.UnmarshalStrict(cloudInit, &document); err != nil {
		t.Fatal(err)
	}
	for _, file := range document.Files {
		content, err := os.ReadFile(dir + file.Path)
		info, statErr := os.Stat(dir + file.Path)
		if err != nil || statErr != nil || string(content) != file.Content ||
			file.Permissions != fmt.Sprintf("%04o", info.Mode()) {
			t.Errorf("%s: %v, %v, mode %v, cloud-init has %s:\n%s\nnot\n%s", file.Path, err, statErr, info.Mode(),
				file.Permissions, content, file.Content)
		}
	}
	if last := document.Files[len(document.Files)-1]; last.Path != "/etc/hcp-node-agent/node.token" ||
		last.Permissions != "0600" || last.Content != joinToken {
		t.Errorf("the last file is %+v", last)
	}
	if commands, _ := strings.CutPrefix(document.RunCmd[0], "set -e\n"); !strings.HasSuffix(string(script), commands) {
		t.Errorf("cloud-init runs %q", document.RunCmd)
	}
	for _, failing := range []string{"update-ca-trust ", "subscription-manager register", "dnf -y"} {
		for name, text := range map[string]string{"script": string(script), "cloud-init": document.RunCmd[0]} {
			_, calls, err := runScript(t, text, failing)
			if last := calls[len(calls)-1] + " "; err == nil || !strings.HasPrefix(last, failing) {
				t.Errorf("%s: %s fails, the last call is %s, %v", name, failing, last, err)
			}
		}
	}
}

// A secret is in no file that every user can read.
func TestModes(t *testing.T) {
	c := readExample(t)
	files, err := c.hostFiles([]byte(joinToken))
	if err != nil {
		t.Fatal(err)
	}
	secrets := 0
	for _, file := range files {
		hasSecret := strings.Contains(string(file.Content), "PASSWORD") || strings.Contains(string(file.Content), "PRIVATE")
		if hasSecret {
			secrets++
		}
		if hasSecret && file.Mode != 0o600 {
			t.Errorf("%s has mode %o", file.Path, file.Mode)
		}
	}
	if secrets != 3 { // proxy of the agent, repository behind the proxy, join token
		t.Errorf("%d files contain secrets", secrets)
	}
}

// The agent of RHEL CoreOS refuses to install packages.
func TestFilesOfCoreOS(t *testing.T) {
	c := readExample(t)
	files, err := c.Files(nil)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, file := range files {
		paths = append(paths, file.Path)
	}
	settings := files[len(files)-1]
	loaded := config.Explain(config.Source{
		File: "-", Stdin: strings.NewReader(string(settings.Content)), NoDropIns: true,
	})
	if strings.Contains(strings.Join(paths, " "), "yum") || len(files) != 4 || loaded.Join.InstallPackages ||
		!loaded.Join.Repair || len(loaded.Problems) > 0 || c.Settings["installPackages"] != true {
		t.Errorf("files %v, settings:\n%s", paths, settings.Content)
	}
}

func TestMissing(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		want    int
	}{
		"nothing is set":      {"", 2},
		"a repository":        {"repositories: [{name: a, baseurl: 'https://a', gpgkey: 'https://a/k'}]", 1},
		"a subscription":      {"subscription: {organization: a, activationKey: b}", 1},
		"packages only":       {"settings: {installPackages: true}", 1},
		"not to be installed": {"settings: {installPackages: false}", 2},
		"subscription and packages": {
			"subscription: {organization: a, activationKey: b}\nsettings: {installPackages: true}", 0,
		},
	} {
		c, err := Parse([]byte(header + test.content))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		findings := c.Missing()
		if len(findings) != test.want {
			t.Errorf("%s: %+v", name, findings)
		}
		for _, finding := range findings {
			if finding.Severity != report.SeverityNote {
				t.Errorf("%s: %+v", name, finding)
			}
		}
	}
}

// dnf connects directly to hosts of noProxy, and a proxy without a password is no secret.
func TestProxyOfRepositories(t *testing.T) {
	for proxy, want := range map[string]string{
		"{url: 'http://p:3128'}":                                 "proxy=http://p:3128\n",
		"{url: 'http://p:3128', noProxy: [.example.com]}":        "",
		"{url: 'http://p', noProxy: [192.0.2.0/24]}":             "proxy=http://p\n",
		"{url: 'http://u:p%40@p', noProxy: [other.example.org]}": "proxy=http://p\nproxy_username=u\nproxy_password=p@\n",
	} {
		c, err := Parse([]byte(header + "repositories: [{name: a, baseurl: 'https://a.example.com', gpgkey: 'file:///k'}]\n" +
			"proxy: " + proxy))
		if err != nil {
			t.Fatal(err)
		}
		file := c.repositoryFiles()[0]
		_, got, _ := strings.Cut(string(file.Content), "enabled=1\n")
		if got != want || (file.Mode == 0o600) != strings.Contains(want, "password") {
			t.Errorf("%s: mode %o, %q", proxy, file.Mode, got)
		}
	}
}
