// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Describe returns the current and the desired state of the change in one line.
func (change PlannedChange) Describe() string {
	switch change.Action {
	case ActionAdd:
		return describeState(change.Kind, change.Desired)
	case ActionRemove:
		return describeState(change.Kind, change.Now)
	case ActionAttributes, ActionChange:
	}
	now, want := change.Now, change.Desired
	var list []string
	add := func(label, before, after string) {
		switch {
		case after == "" || after == before:
		case before == "":
			list = append(list, label+after)
		default:
			list = append(list, label+before+" -> "+after)
		}
	}
	add("", string(now.Type), string(change.Kind.FileType()))
	switch {
	case want.Digest == "" || now.Digest == want.Digest:
	case now.Digest == "":
		list = append(list, formatSize(want.Size))
	case now.Size == want.Size:
		list = append(list, formatSize(want.Size)+", content differs")
	default:
		list = append(list, fmt.Sprintf("%d -> %s", now.Size, formatSize(want.Size)))
	}
	add("", now.Link, want.Link)
	add("mode ", formatMode(now.Mode), formatMode(want.Mode))
	add("owner ", formatID(now.UID), formatID(want.UID))
	add("group ", formatID(now.GID), formatID(want.GID))
	add("", now.Enabled, want.Enabled)
	add("", now.Active, want.Active)
	add("", now.Value, want.Value)
	if len(list) == 0 {
		return fmt.Sprintf("%s -> %s", now, want)
	}
	return strings.Join(list, ", ")
}

// describeState describes a state in a few words.
func describeState(kind ledger.Kind, state ledger.State) string {
	switch kind {
	case ledger.File:
		text := formatSize(state.Size)
		if state.Type != "" && state.Type != hostfs.Regular {
			text = string(state.Type)
		}
		if mode := formatMode(state.Mode); mode != "" {
			text += ", mode " + mode
		}
		return text
	case ledger.Directory:
		return strings.TrimSuffix("directory, mode "+formatMode(state.Mode), ", mode ")
	}
	return state.String()
}

func formatSize(size int64) string {
	if size == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", size)
}

func formatMode(mode *uint32) string {
	if mode == nil {
		return ""
	}
	return fmt.Sprintf("%04o", *mode)
}

func formatID(id *int) string {
	if id == nil {
		return ""
	}
	return fmt.Sprint(*id)
}
