// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

// UnpackedFile is a file that Unpack creates.
type UnpackedFile struct {
	Mode   os.FileMode // permissions
	Digest string      // SHA-256 of the content, hexadecimal; "" for a symbolic link, and for a file that is not verified
	Link   string      // target of a symbolic link; "" for a regular file
	Limit  int64       // maximum size in bytes

	Optional bool // the archive may have no regular file of this name
}

// Unpack creates files of a tar archive below the directory dir, which must exist and be empty, owned
// by root. The keys of wanted are absolute paths in the archive. Other entries are skipped. Unpack
// fails if a file differs from wanted, or is missing. It reads the archive to its end.
//
// The files are not durable.
func Unpack(dir string, archive io.Reader, wanted map[string]UnpackedFile) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("opening %s: %w", dir, err)
	}
	defer root.Close()
	found := map[string]bool{}
	for entries := tar.NewReader(archive); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading the archive: %w", err)
		}
		name := path.Clean("/" + header.Name)
		file, isWanted := wanted[name]
		if !isWanted || (file.Optional && header.Typeflag != tar.TypeReg) {
			continue
		}
		if err := file.create(root, name[1:], header, entries); err != nil {
			return fmt.Errorf("unpacking %s: %w", name, err)
		}
		found[name] = true
	}
	for name, file := range wanted {
		if !found[name] && !file.Optional {
			return fmt.Errorf("the archive does not contain %s", name)
		}
	}
	_, err = io.Copy(io.Discard, archive) // the padding after the last entry
	return err
}

// create creates the file at name from an entry of an archive.
func (f UnpackedFile) create(root *os.Root, name string, header *tar.Header, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch {
	case f.Link != "" && header.Typeflag == tar.TypeSymlink && header.Linkname == f.Link:
		return root.Symlink(f.Link, name)
	case f.Link != "" || header.Typeflag != tar.TypeReg:
		return errors.New("it is of another type, or links to another file")
	case header.Size > f.Limit:
		return fmt.Errorf("it has %d bytes; the limit is %d", header.Size, f.Limit)
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.Mode)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(file, sum), content); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); f.Digest != "" && got != f.Digest {
		return fmt.Errorf("its digest is sha256:%s, want sha256:%s", got, f.Digest)
	}
	if err := file.Chmod(f.Mode); err != nil { // whatever the umask is
		return err
	}
	return file.Close()
}
