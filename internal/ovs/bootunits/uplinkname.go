// SPDX-License-Identifier: Apache-2.0

package bootunits

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// A NIC can get another name at a boot, because of a new kernel or naming
// policy, an additional NIC or a udev rule. A profile with the MAC and without
// a name would match it. But NetworkManager passes the name in the profile to
// Open vSwitch. Without a name (1.42) it requests an interface with an empty
// name, which the database refuses. Also, mtu-migration.sh reads the name in
// ovs-if-phys0. Therefore the agent writes the new name into the profile files
// before NetworkManager reads them.

// profilesWithNICName lists the profiles that contain the name of the NIC. The profile
// of the NIC is written last: as long as it has the old name, the next boot
// repeats the update.
var profilesWithNICName = [...]string{ovs.BridgeProfile, ovs.NICPortProfile, ovs.NICProfile}

// udevTimeout limits the wait until udev has named a NIC.
const udevTimeout = 30 * time.Second

// UpdateUplinkName writes the current name of the NIC into the profiles of br-ex.
// It finds the NIC by its permanent MAC. NetworkManager must not run yet. The
// returned names are equal if nothing had to be changed, and empty if br-ex is
// not managed by the agent or its MAC does not identify the NIC.
func UpdateUplinkName(ctx context.Context, tree *hostfs.Tree) (before, now string, err error) {
	id, _, err := tree.ReadFile("/etc/machine-id")
	if err != nil {
		return "", "", fmt.Errorf("reading the machine ID: %w", err)
	}
	files, err := findProfileFiles(tree, strings.TrimSpace(string(id)))
	if err != nil {
		return "", "", err
	}
	profile := files[ovs.NICProfile].content
	before, mac := readSetting(profile, "interface-name", "DEVICE"), readSetting(profile, "mac-address", "HWADDR")
	if before == "" || mac == "" {
		return "", "", nil
	}
	links, err := hostnet.Links()
	if err != nil {
		return before, before, err
	}
	nic, ok := hostnet.LinkByPermanentMAC(links, mac)
	if !ok {
		return before, before, nil // it can appear later
	}
	if now, err = waitForUdevName(ctx, nic); err != nil || now == before {
		return before, before, err
	}
	return before, now, renameNICInProfiles(tree, files, before, now)
}

// waitForUdevName waits until udev has processed a NIC and returns its name. Before
// that, the NIC has the kernel's name.
func waitForUdevName(ctx context.Context, nic hostnet.Link) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, udevTimeout)
	defer cancel()
	for {
		if _, err := os.Stat("/run/udev/data/n" + strconv.Itoa(nic.Index)); err == nil {
			break
		}
		if err := wait.Sleep(ctx, 100*time.Millisecond); err != nil {
			return "", fmt.Errorf("waiting for udev to name %s: %w", nic.Name, err)
		}
	}
	links, err := hostnet.Links()
	if err != nil {
		return "", err
	}
	for _, link := range links {
		if link.Index == nic.Index {
			return link.Name, nil
		}
	}
	return "", fmt.Errorf("%s was removed while udev renamed it", nic.Name)
}

// profileFile is a profile file of NetworkManager.
type profileFile struct {
	path    string
	content []byte
	attr    hostfs.Attr
}

// findProfileFiles finds the files of the agent's profiles that name the NIC, by
// UUID: NetworkManager chooses the file names.
func findProfileFiles(tree *hostfs.Tree, machineID string) (map[string]profileFile, error) {
	found := map[string]profileFile{}
	for dir := range strings.FieldsSeq(ovs.ProfileDirectories) {
		names, err := tree.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			content, info, err := tree.ReadFile(dir + "/" + name)
			if err != nil {
				continue // a directory or a dangling link is not a profile of the agent
			}
			uuid := readSetting(content, "uuid", "UUID")
			for _, profile := range profilesWithNICName {
				if uuid == ovs.ProfileUUID(machineID, profile) {
					found[profile] = profileFile{path: dir + "/" + name, content: content, attr: info.Attr()}
				}
			}
		}
	}
	return found, nil
}

// readSetting returns a setting that occurs in only one section of a profile, by
// its names in a keyfile and in an ifcfg file.
func readSetting(content []byte, names ...string) string {
	for line := range bytes.Lines(content) {
		name, value, ok := strings.Cut(strings.TrimSpace(string(line)), "=")
		for _, wanted := range names {
			if ok && name == wanted {
				return strings.Trim(value, `"`)
			}
		}
	}
	return ""
}

// renameNICInProfiles rewrites the profiles, each one atomically and durably.
func renameNICInProfiles(tree *hostfs.Tree, files map[string]profileFile, before, now string) error {
	for _, profile := range profilesWithNICName {
		file, ok := files[profile]
		content := replaceNICName(file.content, before, now)
		if !ok || bytes.Equal(content, file.content) {
			continue
		}
		if err := tree.ReplaceFile(file.path, content, file.attr); err != nil {
			return fmt.Errorf("writing the name %s to %s: %w", now, file.path, err)
		}
	}
	return nil
}

// replaceNICName replaces the name of the NIC in the content of a profile.
func replaceNICName(content []byte, before, now string) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(content) {
		text := strings.TrimRight(string(line), "\r\n")
		switch name, value, _ := strings.Cut(text, "="); {
		case strings.Trim(value, `"`) != before:
		case name == "interface-name", name == "DEVICE", name == "data.bridge-uplink":
			line = []byte(name + "=" + now + "\n")
		}
		out.Write(line)
	}
	return out.Bytes()
}
