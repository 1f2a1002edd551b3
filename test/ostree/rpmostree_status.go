// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"fmt"
	"strconv"
	"strings"
)

// rpmDeployment is a deployment in "rpm-ostree status --json" (rust/src/daemon.rs,
// src/daemon/rpmostreed-deployment-utils.cxx).
type rpmDeployment struct {
	ID                             string   `json:"id"`
	OSName                         string   `json:"osname"`
	Checksum                       string   `json:"checksum"`
	Serial                         int      `json:"serial"`
	Booted                         bool     `json:"booted"`
	Staged                         bool     `json:"staged"`
	FinalizationLocked             bool     `json:"finalization-locked,omitempty"`
	Pinned                         bool     `json:"pinned"`
	Unlocked                       string   `json:"unlocked"`
	Version                        string   `json:"version,omitempty"`
	Timestamp                      int64    `json:"timestamp"`
	ContainerImageReference        string   `json:"container-image-reference,omitempty"`
	ContainerImageReferenceDigest  string   `json:"container-image-reference-digest,omitempty"`
	Origin                         string   `json:"origin,omitempty"`
	RequestedPackages              []string `json:"requested-packages"`
	RequestedLocalPackages         []string `json:"requested-local-packages"`
	RequestedBaseRemovals          []string `json:"requested-base-removals"`
	RequestedBaseLocalReplacements []string `json:"requested-base-local-replacements"`
	RegenerateInitramfs            bool     `json:"regenerate-initramfs"`
	Packages                       []string `json:"packages"`
	BaseRemovals                   []string `json:"base-removals"`
	BaseLocalReplacements          []string `json:"base-local-replacements"`
}

func rpmDeploymentOf(d deployment) (rpmDeployment, error) {
	entry := rpmDeployment{
		ID:                             d.stateroot + "-" + d.name(),
		OSName:                         d.stateroot,
		Checksum:                       d.checksum,
		Serial:                         d.serial,
		Booted:                         d.booted,
		Staged:                         d.staged,
		FinalizationLocked:             d.staged && d.locked,
		Pinned:                         d.pinned,
		Unlocked:                       "none",
		RequestedPackages:              requestedPackages(d.origin),
		RequestedLocalPackages:         []string{},
		RequestedBaseRemovals:          []string{},
		RequestedBaseLocalReplacements: []string{},
		Packages:                       []string{},
		BaseRemovals:                   []string{},
		BaseLocalReplacements:          []string{},
	}
	text, err := command("ostree", "show", "--repo="+repository, "--print-metadata-key=version", d.checksum)
	if err == nil { // absent if the commit has no version
		entry.Version = strings.Trim(strings.TrimSpace(text), "'")
	}
	if entry.Timestamp, err = commitTime(d.checksum); err != nil {
		return entry, err
	}
	if d.reference() == "" {
		entry.Origin = d.origin["origin"]["refspec"]
		return entry, nil
	}
	entry.ContainerImageReference = d.reference()
	image, err := readMetadata(d.checksum)
	if err != nil {
		return entry, err
	}
	entry.ContainerImageReferenceDigest = image.digest
	if version := image.version(); version != "" {
		entry.Version = version
	}
	return entry, nil
}

// requestedPackages returns the packages of an origin: a list of GKeyFile.
func requestedPackages(origin keyfile) []string {
	list := []string{}
	for name := range strings.SplitSeq(origin["packages"]["requested"], ";") {
		if name != "" {
			list = append(list, name)
		}
	}
	return list
}

// commitTime returns the time of a commit, in seconds since 1970.
func commitTime(commit string) (int64, error) {
	raw, err := command("ostree", "show", "--repo="+repository, "--raw", commit)
	if err != nil {
		return 0, err
	}
	// (metadata, parent, related, subject, body, uint64 time, contents, metadata)
	_, after, _ := strings.Cut(raw, "uint64 ")
	seconds, err := strconv.ParseInt(strings.FieldsFunc(after, func(r rune) bool { return r < '0' || r > '9' })[0], 10, 64)
	return seconds, err
}

func rpmStatus(args []string) error {
	flags := newFlags()
	asJSON := flags.Bool("json", false, "")
	booted := flags.Bool("booted", false, "")
	flags.BoolVar(booted, "b", false, "")
	if _, err := parse(flags, args); err != nil {
		return err
	}
	list, err := deployments()
	if err != nil {
		return err
	}
	entries := []rpmDeployment{}
	for _, d := range list {
		if *booted && !d.booted {
			continue
		}
		entry, err := rpmDeploymentOf(d)
		if err != nil {
			return err
		}
		entries = append(entries, entry)
	}
	if *asJSON {
		out, err := toJSON(map[string]any{"deployments": entries, "transaction": nil, "cached-update": nil})
		fmt.Print(out)
		return err
	}
	fmt.Println("State: idle\nDeployments:")
	for _, entry := range entries {
		mark := " "
		if entry.Booted {
			mark = "●"
		}
		source := entry.ContainerImageReference
		if source == "" {
			source = entry.Origin
		}
		fmt.Printf("%s %s\n      Digest: %s\n     Version: %s\n",
			mark, source, entry.ContainerImageReferenceDigest, entry.Version)
	}
	return nil
}
