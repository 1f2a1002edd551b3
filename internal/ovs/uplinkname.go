package ovs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// A NIC can have another name after a boot: a kernel or a naming policy that is
// newer, a card more in the machine, a rule of udev. A profile with the MAC and
// no name would find it, but NetworkManager takes the name that it gives Open
// vSwitch from the profile, and where there is none (1.42) asks for an
// interface without a name, which the database refuses; and mtu-migration.sh
// reads the name in ovs-if-phys0. So the files of the profiles are told the new
// name, before NetworkManager reads them.

// namedFiles are the profiles that name the NIC. That of the NIC is written
// last: as long as it has the old name, the next boot begins anew.
var namedFiles = [...]string{BridgeProfile, NICPortProfile, NICProfile}

// udevTime is how long a card may take until udev has given it its name.
const udevTime = 30 * time.Second

// FollowUplink gives the profiles of br-ex the name that the NIC has since this
// boot, found by the MAC that its maker gave it. NetworkManager must not run
// yet. The two names are equal where there was nothing to do, and empty where
// br-ex is not the agent's or its NIC cannot be told by its MAC.
func FollowUplink(ctx context.Context, tree *host.Tree) (before, now string, err error) {
	id, _, err := tree.ReadFile("/etc/machine-id")
	if err != nil {
		return "", "", fmt.Errorf("reading who this machine is: %w", err)
	}
	files, err := profileFilesOf(tree, strings.TrimSpace(string(id)))
	if err != nil {
		return "", "", err
	}
	nic := files[NICProfile].content
	before, mac := settingOf(nic, "interface-name", "DEVICE"), settingOf(nic, "mac-address", "HWADDR")
	if before == "" || mac == "" {
		return "", "", nil
	}
	links, err := host.Links()
	if err != nil {
		return before, before, err
	}
	card, ok := cardWith(links, mac)
	if !ok {
		return before, before, nil // it can come later
	}
	if now, err = nameOfUdev(ctx, card); err != nil || now == before {
		return before, before, err
	}
	return before, now, rename(tree, files, before, now)
}

// cardWith finds the one link whose maker gave it the MAC.
func cardWith(links []host.Link, mac string) (host.Link, bool) {
	var found []host.Link
	for _, link := range links {
		if strings.EqualFold(link.PermanentMAC, mac) {
			found = append(found, link)
		}
	}
	if len(found) != 1 {
		return host.Link{}, false
	}
	return found[0], true
}

// nameOfUdev is the name of a card once udev is through with it; until then it
// has that of the kernel.
func nameOfUdev(ctx context.Context, card host.Link) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, udevTime)
	defer cancel()
	for {
		if _, err := os.Stat("/run/udev/data/n" + strconv.Itoa(card.Index)); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("waiting for udev to name %s: %w", card.Name, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	links, err := host.Links()
	if err != nil {
		return "", err
	}
	for _, link := range links {
		if link.Index == card.Index {
			return link.Name, nil
		}
	}
	return "", fmt.Errorf("%s has gone while udev named it", card.Name)
}

// profileFile is a profile as NetworkManager has it on disk.
type profileFile struct {
	path    string
	content []byte
	attr    host.Attr
}

// profileFilesOf finds the files of our profiles that name the NIC, by their
// UUIDs: NetworkManager chooses the files' names.
func profileFilesOf(tree *host.Tree, machineID string) (map[string]profileFile, error) {
	found := map[string]profileFile{}
	for dir := range strings.FieldsSeq(ProfileDirectories) {
		there, err := tree.Exists(dir)
		if err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		names, err := tree.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			content, info, err := tree.ReadFile(dir + "/" + name)
			if err != nil {
				continue // a directory or a link to nothing is no profile of ours
			}
			uuid := settingOf(content, "uuid", "UUID")
			for _, profile := range namedFiles {
				if uuid == ProfileUUID(machineID, profile) {
					found[profile] = profileFile{dir + "/" + name, content, host.Attr{Mode: info.Mode, UID: info.UID, GID: info.GID, Xattrs: info.Xattrs}}
				}
			}
		}
	}
	return found, nil
}

// settingOf reads a setting that only one section of a profile has, under its
// name in a keyfile or in an ifcfg file.
func settingOf(content []byte, names ...string) string {
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

// rename writes the profiles anew, each whole and durable.
func rename(tree *host.Tree, files map[string]profileFile, before, now string) error {
	for _, profile := range namedFiles {
		file, ok := files[profile]
		content := withName(file.content, before, now)
		if !ok || bytes.Equal(content, file.content) {
			continue
		}
		batch := tree.NewBatch()
		err := batch.Stage(file.path, content, file.attr)
		if err == nil {
			err = batch.Commit()
		}
		batch.Abort()
		if err != nil {
			return fmt.Errorf("naming %s in %s: %w", now, file.path, err)
		}
	}
	return nil
}

// withName replaces the name of the NIC where a profile has it.
func withName(content []byte, before, now string) []byte {
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
