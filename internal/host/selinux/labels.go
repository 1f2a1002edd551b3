// SPDX-License-Identifier: Apache-2.0

package selinux

import (
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// labelQuery is one invocation of matchpathcon.
type labelQuery struct {
	class string // for matchpathcon -m: file, dir, lnk_file
	paths []string
}

// maxArgumentBytes limits the paths of one question, well below the maximum length
// of a command line (128 KiB on the oldest kernels).
const maxArgumentBytes = 64 << 10

// labelQueries groups paths by file type, and splits them into command lines of
// limited length. It skips a path with a newline, because the output could not
// be parsed.
func labelQueries(types map[string]hostfs.FileType) []labelQuery {
	classes := map[hostfs.FileType]string{hostfs.Regular: "file", hostfs.Directory: "dir", hostfs.Symlink: "lnk_file"}
	var all []labelQuery
	for _, kind := range []hostfs.FileType{hostfs.Regular, hostfs.Directory, hostfs.Symlink} {
		var paths []string
		for p, t := range types {
			if t == kind && !strings.Contains(p, "\n") {
				paths = append(paths, p)
			}
		}
		slices.Sort(paths)
		for len(paths) > 0 {
			n, size := 0, 0
			for n < len(paths) && (n == 0 || size+len(paths[n]) < maxArgumentBytes) {
				size += len(paths[n]) + 1
				n++
			}
			all = append(all, labelQuery{class: classes[kind], paths: paths[:n]})
			paths = paths[n:]
		}
	}
	return all
}

// parseLabels parses the output of matchpathcon: path, tab and label on a line
// for each path. Labels end with a NUL, as the kernel stores them.
func parseLabels(out string) map[string][]byte {
	labels := map[string][]byte{}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		tab := strings.LastIndexByte(line, '\t') // a path can contain tabs, a label cannot
		if tab < 0 {
			continue
		}
		if label := line[tab+1:]; strings.Count(label, ":") >= 2 { // not <<none>>
			labels[line[:tab]] = []byte(label + "\x00")
		}
	}
	return labels
}
