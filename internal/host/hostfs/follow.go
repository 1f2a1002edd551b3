// SPDX-License-Identifier: Apache-2.0

package hostfs

import "path"

// ReadFollowing reads a file of the host and follows links. /etc/os-release is a link, and so are some drop-ins.
// A link to /dev/null reads as empty.
func ReadFollowing(tree Reader, p string) ([]byte, bool) {
	for range 10 { // more links indicate a loop
		info, err := tree.Lstat(p)
		switch {
		case err != nil:
			return nil, false
		case info.Type != Symlink:
			content, _, err := tree.ReadFile(p)
			return content, err == nil
		case info.Link == "/dev/null":
			return nil, true
		case path.IsAbs(info.Link):
			p = info.Link
		default:
			p = path.Join(path.Dir(p), info.Link)
		}
	}
	return nil, false
}
