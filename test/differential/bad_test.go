// SPDX-License-Identifier: Apache-2.0

//go:build differential

package differential

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// agentResult is the result of a run of the agent.
type agentResult struct {
	code   int
	output string
}

func runAgent(t testing.TB, stdin string, args ...string) agentResult {
	t.Helper()
	program, err := agent()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, args...)
	command.Stdin = strings.NewReader(stdin)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err = command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return agentResult{command.ProcessState.ExitCode(), output.String()}
}

// badConfigs returns configs that must be refused without any change.
func badConfigs() []struct {
	name, config string
	code         int
	message      string
} {
	const section = `"storage":{"files":[{"path":"/etc/first"}],`
	bomb := data(string(gzipped(strings.Repeat("\x00", 80<<20))))
	file := func(rest string) string {
		return storage(`"files":[{"path":"/etc/first"},{"path":"/etc/new",` + rest + `}]`)
	}
	return []struct {
		name, config string
		code         int
		message      string
	}{
		{"empty", "", 2, "empty"},
		{"only spaces", " \n", 2, "empty"},
		{"no JSON", "hello", 2, "the input is not JSON"},
		{"half a config", `{"ignition":{"version":"3.4.0"},"storage":{"files":[`, 2, "the config is truncated"},
		{"JSON of another kind", `["a"]`, 2, "not a valid Ignition config"},
		{"an object that is no config", `{"a":1}`, 2, "ignition.version"},
		{"2.x", `{"ignition":{"version":"2.2.0"}}`, 2, "2.2.0"},
		{"a future version", `{"ignition":{"version":"3.99.0"}}`, 2, "3.99.0"},
		{"butane", "variant: fcos\nversion: 1.5.0\n", 2, "butane"},
		{"a Secret", `{"apiVersion":"v1","kind":"Secret","data":{"value":"e30="}}`, 2, "Secret"},
		{"base64", "eyJpZ25pdGlvbiI6eyJ2ZXJzaW9uIjoiMy4yLjAifX0=", 2, "base64"},
		{"a wrong type", storage(`"files":[{"path":7}]`), 2, "path"},
		{"an unknown scheme", file(`"contents":{"source":"ftp://example.com/x"}`), 2, "supported: data, http and https"},
		{"tftp", file(`"contents":{"source":"tftp://example.com/x"}`), 2, "tftp"},
		{"s3", file(`"contents":{"source":"s3://bucket/x"}`), 2, "s3"},
		{"gs", file(`"contents":{"source":"gs://bucket/x"}`), 2, "gs"},
		{"a wrong hash", file(`"contents":{"source":"data:,x","verification":{"hash":"SHA512"}}`), 2, "sha512"},
		{"a hash of another kind", file(`"contents":{"source":"data:,x","verification":{"hash":"md5-aa"}}`), 2, "hash"},
		{"not compressed", file(`"contents":{"source":"data:,x","compression":"gzip"}`), 2, "gzip"},
		{"compressed otherwise", file(`"contents":{"source":"data:,x","compression":"xz"}`), 2, "compression"},
		{"a bomb", file(`"contents":{"source":"` + bomb + `","compression":"gzip"}`), 2, "64 MiB"},
		{"no data URL", file(`"contents":{"source":"data:x"}`), 2, "contents.source"},
		{"disks", spec("3.4.0", section+`"disks":[{"device":"/dev/sda","wipeTable":true}]}`), 2, "storage.disks"},
		{"raid", spec("3.4.0", section+`"raid":[{"name":"a","level":"raid1","devices":["/dev/sda"]}]}`), 2, "storage.raid"},
		{"luks", spec("3.4.0", section+`"luks":[{"name":"a","device":"/dev/sda"}]}`), 2, "storage.luks"},
		{
			"filesystems", spec("3.4.0", section+`"filesystems":[{"device":"/dev/sda","path":"/","format":"xfs"}]}`), 2,
			"storage.filesystems",
		},
		{"an unknown owner", file(`"user":{"name":"unheard"}`), 2, "unheard"},
		{"an unknown group", file(`"group":{"name":"unheard"}`), 2, "unheard"},
		{"id and name", file(`"user":{"id":0,"name":"root"}`), 2, "id"},
		{"a relative path", storage(`"files":[{"path":"etc/first"}]`), 2, "absolute"},
		{"a path that is not clean", storage(`"files":[{"path":"/etc/../../outside"}]`), 2, "simplified"},
		{"the root", storage(`"directories":[{"path":"/","mode":448}]`), 2, "/"},
		{
			"/proc",
			storage(`"files":[{"path":"/etc/first"},
				{"path":"/proc/sys/kernel/hostname","overwrite":true,
				"contents":{"source":"data:,x"}}]`), 2, "/proc/sys/kernel/hostname",
		},
		{"/sys", storage(`"directories":[{"path":"/etc/first"},{"path":"/sys/x"}]`), 2, "/sys/x"},
		{"/dev", storage(`"links":[{"path":"/dev/x","target":"null"}]`), 2, "/dev/x"},
		{"the record", storage(`"files":[{"path":"/.hcp-node-agent-apply/x"}]`), 2, "/.hcp-node-agent-apply"},
		{"the same path twice", storage(`"files":[{"path":"/etc/first"},{"path":"/etc/first"}]`), 2, "duplicate"},
		{"the same file by two ways", storage(`"files":[{"path":"/etc/first"},{"path":"/alias/first"}]`), 2, "/alias/first"},
		{"a unit with a slash", units(`{"name":"../../../x.service","contents":"[Unit]\n"}`), 2, "slash"},
		{"a unit of no type", units(`{"name":"x","contents":"[Unit]\n"}`), 2, "systemd"},
		{"a mode out of range", file(`"mode":99999`), 2, "mode"},
		{
			"an existing file, without overwrite",
			storage(`"files":[{"path":"/etc/first"},{"path":"/etc/login.defs","contents":{"source":"data:,x"}}]`), 1,
			"/etc/login.defs",
		},
		{"a directory in the way", storage(`"files":[{"path":"/etc/first"},{"path":"/etc/skel"}]`), 1, "/etc/skel"},
		{
			"a file for a parent", storage(`"files":[{"path":"/etc/first"},{"path":"/etc/login.defs/x"}]`), 1, "/etc/login.defs",
		},
		{
			"a hard link to nothing",
			storage(`"files":[{"path":"/etc/first"}],"links":[{"path":"/etc/x","target":"/etc/gone","hard":true}]`), 1,
			"/etc/gone",
		},
		{"not found", file(`"contents":{"source":"HTTP/nowhere"}`), 2, "/nowhere"},
		{"a server that is not trusted", file(`"contents":{"source":"HTTPS/file"}`), 3, "certificate"},
	}
}

// Each config causes one clear message, the exit code of the README's table, and no change of the
// tree.
func TestInvalidConfigsChangeNothing(t *testing.T) {
	for _, test := range badConfigs() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := newTree(t, scenario{tree: []Node{{Path: "/alias", Link: "etc"}}})
			before := listTree(t, root)
			config := servers.replacePlaceholders(test.config, "bad")
			got := runAgent(t, config, "apply", "--payload", "-", "--root", root)
			checkBad(t, got, test.code, test.message)
			if diff := diffListings(before, listTree(t, root)); diff != "" {
				t.Errorf("the tree (-before +after):\n%s", diff)
			}
		})
	}
}

// checkBad checks that the error names the cause and a remedy.
func checkBad(t *testing.T, got agentResult, code int, message string) {
	t.Helper()
	if got.code != code || !strings.Contains(got.output, message) || strings.Contains(got.output, "panic") {
		t.Errorf("exit code %d, want %d with %q:\n%s", got.code, code, message, got.output)
	}
	if lines := strings.Count(strings.TrimSpace(got.output), "\n"); lines < 1 || lines > 6 {
		t.Errorf("%d lines, want the cause and what to do next:\n%s", lines+1, got.output)
	}
}

// TestInvalidRootsChangeNothing tests other errors than those of the config.
func TestInvalidRootsChangeNothing(t *testing.T) {
	remote := writeConfig(t,
		servers.replacePlaceholders(storage(`"files":[{"path":"/etc/first","contents":{"source":"HTTP/file"}}]`), "bad"))
	dir := t.TempDir()
	// Harmless even if the agent wrongly used the running host as the tree.
	good := writeConfig(t, storage(`"files":[{"path":"`+dir+`/first"}]`))
	bare := writeConfig(t, `{"ignition":{"version":"3.2.0"}}`)
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink("/", alias); err != nil {
		t.Fatal(err)
	}
	plainFile := filepath.Join(dir, "file")
	if err := os.WriteFile(plainFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		args    []string
		code    int
		message string
	}{
		{"no flags", []string{"apply"}, 2, "--payload and --root"},
		{"no root", []string{"apply", "--payload", good}, 2, "--payload and --root"},
		{"an unknown flag", []string{"apply", "--payload", good, "--root", dir, "--force"}, 2, "--force"},
		{"an argument", []string{"apply", "--payload", good, "--root", dir, "more"}, 2, "more"},
		{
			"the running host",
			[]string{"apply", "--payload", good, "--root", "/"},
			2,
			"--root is the root directory of the running host",
		},
		{
			"the running host by another name",
			[]string{"apply", "--payload", good, "--root", "/proc/self/root"},
			2,
			"--root is the root directory of the running host",
		},
		{
			"the running host by a link",
			[]string{"apply", "--payload", good, "--root", alias},
			2,
			"--root is the root directory of the running host",
		},
		{"a missing root", []string{"apply", "--payload", good, "--root", dir + "/gone"}, 2, dir + "/gone"},
		{"a root that is a file", []string{"apply", "--payload", good, "--root", plainFile}, 2, plainFile},
		{"a missing config", []string{"apply", "--payload", dir + "/gone", "--root", dir}, 2, dir + "/gone"},
		{"a config that is a directory", []string{"apply", "--payload", dir, "--root", dir}, 2, dir},
		{"offline", []string{"apply", "--payload", remote, "--root", dir, "--offline"}, 2, "/etc/first"},
		{"missing user data", []string{"plan", "--user-data", dir + "/gone"}, 2, dir + "/gone"},
		{"user data that is empty", []string{"plan", "--user-data", plainFile}, 2, "empty"},
		{"user data that is a directory", []string{"plan", "--user-data", dir}, 2, dir},
		{"user data that refers to nothing", []string{"plan", "--user-data", bare}, 2, "names no ignition server"},
		{"a config in place of user data", []string{"plan", "--user-data", good}, 2, "the config is not user data"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := listTree(t, dir)
			checkBad(t, runAgent(t, "", test.args...), test.code, test.message)
			if diff := diffListings(before, listTree(t, dir)); diff != "" {
				t.Errorf("the tree (-before +after):\n%s", diff)
			}
		})
	}
}
