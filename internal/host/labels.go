package host

import (
	"slices"
	"strings"
)

// question is one run of matchpathcon.
type question struct {
	class string // of matchpathcon's -m: file, dir, lnk_file
	paths []string
}

// argumentBytes bounds the paths of one question, well below what a command
// line may have (128 KiB on the oldest kernels).
const argumentBytes = 64 << 10

// questions sorts paths by what is to be made there and into command lines that
// are not too long. A path with a newline is not asked for: the answer could
// not be told apart.
func questions(types map[string]FileType) []question {
	classes := map[FileType]string{Regular: "file", Directory: "dir", Symlink: "lnk_file"}
	var all []question
	for _, kind := range []FileType{Regular, Directory, Symlink} {
		var paths []string
		for p, t := range types {
			if t == kind && !strings.Contains(p, "\n") {
				paths = append(paths, p)
			}
		}
		slices.Sort(paths)
		for len(paths) > 0 {
			n, size := 0, 0
			for n < len(paths) && (n == 0 || size+len(paths[n]) < argumentBytes) {
				size += len(paths[n]) + 1
				n++
			}
			all = append(all, question{class: classes[kind], paths: paths[:n]})
			paths = paths[n:]
		}
	}
	return all
}

// parseLabels reads what matchpathcon prints: path, tab, label, a line for each
// path. Labels are as the kernel stores them, with a NUL at the end.
func parseLabels(out string) map[string][]byte {
	labels := map[string][]byte{}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		tab := strings.LastIndexByte(line, '\t') // a path can have tabs, a label cannot
		if tab < 0 {
			continue
		}
		if label := line[tab+1:]; strings.Count(label, ":") >= 2 { // not <<none>>
			labels[line[:tab]] = []byte(label + "\x00")
		}
	}
	return labels
}
