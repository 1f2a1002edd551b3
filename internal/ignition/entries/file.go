// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

const fileMode = 0o644 // of new files

// file creates or replaces a file, or sets the mode and owner of an existing one and appends to
// it.
func (d *decider) file(e entry, file types.File) error {
	t, there, err := d.beginEntry(e)
	if err != nil {
		return err
	}
	source := file.Contents.Source != nil
	appended := d.in.Appends[file.Path]
	var n *node
	switch {
	case there.kind == hostfs.Regular && !source:
		n = d.updatedFile(there, appended, d.in.Strict && e.path != PresetPath)
	case there.kind == hostfs.Regular && !d.in.Strict, d.canCreate(t, there, "a file"),
		there.kind == hostfs.Symlink && source:
		if err := d.overlay.parents(e.path, e.node.Path); err != nil {
			return err
		}
		n = d.overlay.newNode(e.path, hostfs.Regular, fileMode)
		if n.content = d.in.Contents[file.Path]; len(appended) > 0 {
			n.content = slices.Concat(n.content, appended)
		}
	default:
		return newObstacle("%s must be a file, but a %s exists", t.path, there)
	}
	d.finishEntry(e, n, file.Mode)
	return nil
}

// canCreate reports whether an entry can be created as if the path did not exist. Ignition replaces
// nothing without overwrite. However, the existing path can equal the final result, even one of
// another entry. Therefore the entry is created, and changes compares the result.
func (d *decider) canCreate(t *touchedPath, there *node, what string) bool {
	if there.kind == hostfs.Absent {
		return true
	}
	if d.in.Strict {
		t.conflict = fmt.Sprintf("%s must be %s, but a different %s exists, and the entry does not set overwrite: true",
			t.path, what, there)
	}
	return d.in.Strict
}

// updatedFile returns a node for an existing file with its content and the appended content. With
// atEnd, content is missing unless the file ends with it. Otherwise whole lines are compared, as
// for the preset file, to which units append, too.
func (d *decider) updatedFile(there *node, appended []byte, atEnd bool) *node {
	n := *there
	if d.in.Strict {
		n.clearSetuid()
	}
	if len(appended) == 0 {
		return &n
	}
	content := d.overlay.read(there)
	switch {
	case atEnd && !bytes.HasSuffix(content, appended):
		n.write(slices.Concat(content, appended))
	case !atEnd && !hasLines(content, appended):
		n.write(append(withFinalNewline(content), appended...))
	}
	return &n
}

// write replaces the content of an existing file. The new file keeps all attributes except the
// SELinux label, which the policy sets.
func (n *node) write(content []byte) {
	n.content, n.contentKnown, n.written, n.inode = content, true, true, inode{}
	if n.explicit.Mode == nil {
		n.explicit.Mode = &n.mode
	}
	n.explicit.UID, n.explicit.GID, n.explicit.Xattrs = &n.uid, &n.gid, maps.Clone(n.xattrs)
	delete(n.explicit.Xattrs, "security.selinux")
}

// clearSetuid clears the setuid and setgid bits as chown(2) does for an existing file, even if
// the owner does not change. Ignition calls chown for every file.
func (n *node) clearSetuid() {
	const setuid, setgid, groupExecutes = 0o4000, 0o2000, 0o010
	mode := n.mode &^ setuid
	if mode&groupExecutes != 0 {
		mode &^= setgid
	}
	if mode != n.mode {
		n.mode, n.explicit.Mode = mode, &mode
	}
}

// hasLines reports whether text contains lines as consecutive whole lines, or ends with them.
func hasLines(text, lines []byte) bool {
	if bytes.HasSuffix(text, lines) {
		return true
	}
	framed := func(b []byte) []byte { return append([]byte("\n"), withFinalNewline(b)...) }
	return bytes.Contains(framed(text), framed(lines))
}

// withFinalNewline returns a copy of text that ends with a newline, unless text is empty.
func withFinalNewline(text []byte) []byte {
	text = bytes.Clone(text)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return text
}
