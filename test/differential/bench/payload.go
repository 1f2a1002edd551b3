// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/test/differential"
)

// servedPayload selects the payload of a real cluster; other values are numbers of generated files.
const servedPayload = 0

func name(files int) string {
	if files == servedPayload {
		return "OpenShift 4.18, as served"
	}
	return fmt.Sprintf("%d files, 20 units", files)
}

// write writes a payload to a file. It must run in a separate process, because a child process
// inherits the peak memory of its parent.
func write(files int, to string) error {
	config := generated(files)
	if files == servedPayload {
		var err error
		if config, err = served(); err != nil {
			return err
		}
	}
	return os.WriteFile(to, config, 0o600)
}

// servedFile returns the path of the real payload, which is not part of the repository but can be
// placed beside it.
func servedFile() (path string, there bool, err error) {
	repository, err := differential.Repository()
	if err != nil {
		return "", false, err
	}
	path = filepath.Join(repository, "../shared/payloads/worker-4.18.ign")
	_, err = os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return path, err == nil, err
}

// served returns only the files and units of that payload, because ignition-apply refuses the
// rest.
func served() ([]byte, error) {
	path, _, err := servedFile()
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var document map[string]any
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, err
	}
	delete(document, "passwd")
	delete(document, "kernelArguments")
	return json.Marshal(document)
}

// generated returns a payload of the same structure with count files of 1.5 kB each. The agent
// refuses configs of more than 32 MiB.
func generated(count int) []byte {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same text each time
	var files, units []string
	for i := range count {
		var content strings.Builder
		for content.Len() < 1500 {
			fmt.Fprintf(&content, "setting_%d = %x\n", i, random.Uint64())
		}
		files = append(files,
			fmt.Sprintf(`{"path":"/etc/example/%02d/%04d.conf","overwrite":true,"mode":420,
				"contents":{"source":"data:;base64,%s"}}`,
				i%20, i, base64.StdEncoding.EncodeToString([]byte(content.String()))))
	}
	for i := range 20 {
		units = append(units,
			fmt.Sprintf(`{"name":"example-%d.service","enabled":true,
				"contents":"[Unit]\nDescription=%s\n[Install]\nWantedBy=multi-user.target\n"}`,
				i, strings.Repeat("word ", 200)))
	}
	return fmt.Appendf(nil, `{"ignition":{"version":"3.2.0"},"storage":{"files":[%s]},"systemd":{"units":[%s]}}`,
		strings.Join(files, ","), strings.Join(units, ","))
}

func tree() []differential.Node {
	return []differential.Node{
		{Path: "/etc/passwd", Content: "root:x:0:0:root:/root:/bin/bash\n"},
		{Path: "/etc/group", Content: "root:x:0:\n"},
		{Path: "/etc/systemd/system/"},
		{Path: "/usr/local/bin/"},
	}
}
