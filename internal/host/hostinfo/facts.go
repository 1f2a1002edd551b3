// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/bootloader"
)

// Facts contains what the agent's decisions depend on.
type Facts struct {
	OS        OSRelease `json:"os"`
	Arch      string    `json:"arch"`     // as in Go: amd64, arm64
	Kernel    string    `json:"kernel"`   // uname -r
	Hostname  string    `json:"hostname"` // uname -n
	MachineID string    `json:"machineID"`
	BootID    string    `json:"bootID"`
	Root      bool      `json:"root"`   // running as root
	OSTree    bool      `json:"ostree"` // an image-mode host: RHCOS, bootc
	FIPS      bool      `json:"fips"`
	CgroupV2  bool      `json:"cgroupV2"`
	SELinux   string    `json:"selinux"`     // enforcing, permissive, disabled
	CPUs      int       `json:"cpus"`        // online CPUs; 0 if unknown
	MemoryKiB int64     `json:"memoryKiB"`   // MemTotal
	Swap      []string  `json:"swap"`        // active swap devices and files
	DiskFree  int64     `json:"diskFreeKiB"` // of the file system of /var/lib
	Cmdline   []string  `json:"cmdline"`     // kernel arguments
}

// OSRelease is the part of os-release(5) that the agent uses.
type OSRelease struct {
	ID      string   `json:"id" doc:"ID, such as rhel"`
	Like    []string `json:"like,omitempty" doc:"ID_LIKE: IDs of closely related systems"`
	Version string   `json:"version" doc:"VERSION_ID, such as 9.4"`
	Variant string   `json:"variant,omitempty" doc:"VARIANT_ID, such as coreos"`
	Name    string   `json:"name" doc:"PRETTY_NAME"`
}

// Gather gathers the facts of the running host. A value that cannot be read
// remains zero: a preflight check reports it where it matters.
func Gather(_ context.Context) (Facts, error) {
	facts := Facts{Arch: runtime.GOARCH, Root: os.Geteuid() == 0}
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return facts, fmt.Errorf("reading os-release: %w", err)
	}
	facts.OS = ParseOSRelease(release)
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return facts, fmt.Errorf("reading the kernel release: %w", err)
	}
	facts.Kernel = unix.ByteSliceToString(uts.Release[:])
	facts.Hostname = unix.ByteSliceToString(uts.Nodename[:])
	facts.MachineID = firstLine("/etc/machine-id")
	facts.BootID = firstLine("/proc/sys/kernel/random/boot_id")
	facts.OSTree = fileExists("/run/ostree-booted")
	facts.FIPS = firstLine("/proc/sys/crypto/fips_enabled") == "1"
	facts.CgroupV2 = fileExists("/sys/fs/cgroup/cgroup.controllers")
	facts.SELinux = selinuxMode(firstLine("/sys/fs/selinux/enforce"), firstLine("/proc/self/attr/current"))
	facts.Cmdline = bootloader.Split(firstLine("/proc/cmdline"))
	if online, err := cpuset.Parse(firstLine("/sys/devices/system/cpu/online")); err == nil {
		facts.CPUs = online.Size()
	}
	facts.MemoryKiB = memory("MemTotal:")
	facts.Swap = activeSwap()
	var disk unix.Statfs_t
	if unix.Statfs("/var/lib", &disk) == nil {
		facts.DiskFree = int64(disk.Bavail) * disk.Bsize / 1024 //nolint:gosec // a count of free blocks fits
	}
	return facts, nil
}

// ParseOSRelease parses os-release(5).
func ParseOSRelease(content []byte) OSRelease {
	values := ParseEnv(content)
	return OSRelease{
		ID: values["ID"], Like: strings.Fields(values["ID_LIKE"]),
		Version: values["VERSION_ID"], Variant: values["VARIANT_ID"], Name: values["PRETTY_NAME"],
	}
}

// ParseEnv parses NAME=value lines in the format of os-release(5) and systemd's
// EnvironmentFile: comments, optional quotes, last one wins.
func ParseEnv(content []byte) map[string]string {
	values := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(content))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		name, value, found := strings.Cut(line, "=")
		if !found || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		value = strings.TrimSpace(value)
		if len(value) >= 2 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
			value = value[1 : len(value)-1]
		}
		values[strings.TrimSpace(name)] = value
	}
	return values
}

// selinuxMode returns the mode of SELinux, from the enforce file and this
// process's own label. A kernel with SELinux but without a policy has the
// enforce file too, but every process runs as "kernel" (is_selinux_enabled(3)).
func selinuxMode(enforce, label string) string {
	label = strings.TrimRight(label, "\x00")
	switch {
	case enforce == "" || label == "" || label == "kernel":
		return "disabled"
	case enforce == "1":
		return "enforcing"
	}
	return "permissive"
}

// memory returns a value of proc_meminfo(5) in KiB, 0 if unknown.
func memory(name string) int64 {
	content, _ := os.ReadFile("/proc/meminfo") // the preflight check reports zero
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == name {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib
		}
	}
	return 0
}

func activeSwap() []string {
	content, _ := os.ReadFile("/proc/swaps")
	var devices []string
	for i, line := range strings.Split(string(content), "\n") {
		if fields := strings.Fields(line); i > 0 && len(fields) > 0 {
			devices = append(devices, fields[0])
		}
	}
	return devices
}

func firstLine(p string) string {
	content, _ := os.ReadFile(p)
	line, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimSpace(line)
}

func fileExists(p string) bool {
	_, err := os.Stat(p)
	return err == nil
}

// IsSELinuxEnabled reports whether the running kernel enforces or logs an SELinux policy.
func IsSELinuxEnabled() bool {
	return selinuxMode(firstLine("/sys/fs/selinux/enforce"), firstLine("/proc/self/attr/current")) != "disabled"
}
