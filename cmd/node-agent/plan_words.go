package main

import (
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// whatChanges describes the current and the desired state of a change.
func whatChanges(change bootstrap.PlannedChange) string {
	switch change.Action {
	case bootstrap.ActionAdd:
		return words(change.Kind, change.Want)
	case bootstrap.ActionRemove:
		return words(change.Kind, change.Now)
	case bootstrap.ActionAttributes, bootstrap.ActionChange:
	}
	now, want := change.Now, change.Want
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
	add("", now.Type, typeOf(change.Kind))
	switch {
	case want.Digest == "" || now.Digest == want.Digest:
	case now.Digest == "":
		list = append(list, fmt.Sprintf("%d bytes", want.Size))
	case now.Size == want.Size:
		list = append(list, fmt.Sprintf("%d bytes, other content", want.Size))
	default:
		list = append(list, fmt.Sprintf("%d -> %d bytes", now.Size, want.Size))
	}
	add("", now.Link, want.Link)
	add("mode ", octal(now.Mode), octal(want.Mode))
	add("owner ", number(now.UID), number(want.UID))
	add("group ", number(now.GID), number(want.GID))
	add("", now.Enabled, want.Enabled)
	add("", now.Active, want.Active)
	add("", now.Value, want.Value)
	if len(list) == 0 {
		return fmt.Sprintf("%s -> %s", now, want)
	}
	return strings.Join(list, ", ")
}

// words describes a state in a few words.
func words(kind ledger.Kind, state ledger.State) string {
	switch kind {
	case ledger.File:
		text := fmt.Sprintf("%d bytes", state.Size)
		if state.Type != "" && state.Type != typeOf(kind) {
			text = state.Type
		}
		if mode := octal(state.Mode); mode != "" {
			text += ", mode " + mode
		}
		return text
	case ledger.Directory:
		return strings.TrimSuffix("directory, mode "+octal(state.Mode), ", mode ")
	}
	return state.String()
}

// typeOf returns the file type, in the terms of package host, that a kind of entry creates.
func typeOf(kind ledger.Kind) string {
	switch kind {
	case ledger.File, ledger.HardLink:
		return string(host.Regular)
	case ledger.Directory:
		return string(host.Directory)
	case ledger.Link:
		return string(host.Symlink)
	}
	return ""
}

func octal(mode *uint32) string {
	if mode == nil {
		return ""
	}
	return fmt.Sprintf("%04o", *mode)
}

func number(id *int) string {
	if id == nil {
		return ""
	}
	return fmt.Sprint(*id)
}
