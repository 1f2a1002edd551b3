// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// databases are the possible paths of the rpm database in a layer.
var databases = []string{"/usr/share/rpm/rpmdb.sqlite", "/usr/lib/sysimage/rpm/rpmdb.sqlite"}

const (
	maxDatabase = 512 << 20
	maxFile     = 1 << 30
)

// Extract writes the files of packages from a downloaded layer below the directory to, which must be
// empty. It returns their paths on a host, such as /usr/bin/kubelet. Each file is compared with its
// digest in the layer's rpm database. The directory scratch must be empty and private.
func Extract(ctx context.Context, layer *os.File, packages []string, scratch, to string) ([]dnf.PackageFile, error) {
	database, err := extractDatabase(layer, scratch)
	if err != nil {
		return nil, err
	}
	all, err := dnf.PackageFiles(ctx, database, packages...)
	if err != nil {
		return nil, err
	}
	var files []dnf.PackageFile
	wanted := map[string]hostfs.UnpackedFile{}
	for _, file := range all {
		if !isInstalled(file) {
			continue
		}
		files = append(files, file)
		wanted[file.Path] = hostfs.UnpackedFile{
			Mode:   fs.FileMode(file.Mode & 0o777),
			Digest: file.Digest,
			Link:   file.Link,
			Limit:  maxFile,
		}
	}
	if err := unpack(layer, to, wanted); err != nil {
		return nil, err
	}
	return files, nil
}

// documentation are the directories whose files are not installed.
var documentation = []string{"/usr/lib/.build-id", "/usr/share/man", "/usr/share/doc", "/usr/share/licenses"}

// isInstalled reports whether a file of a package is installed on the host: programs, units and
// configuration, but no documentation.
func isInstalled(file dnf.PackageFile) bool {
	switch file.Mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFLNK:
	default:
		return false
	}
	return !file.Ghost && !file.Doc && !file.License && !isBelowAny(file.Path, documentation) &&
		!strings.Contains(file.Path, "-completion/") && !strings.Contains(file.Path, "/site-functions/")
}

// extractDatabase writes the rpm database of a layer below the directory scratch, and returns the
// directory of the database.
func extractDatabase(layer *os.File, scratch string) (string, error) {
	wanted := map[string]hostfs.UnpackedFile{}
	for _, name := range databases {
		wanted[name] = hostfs.UnpackedFile{Mode: 0o600, Limit: maxDatabase, Optional: true}
	}
	if err := unpack(layer, scratch, wanted); err != nil {
		return "", fmt.Errorf("reading the rpm database of the layer: %w", err)
	}
	for _, name := range databases {
		if _, err := os.Lstat(filepath.Join(scratch, name)); err == nil {
			return filepath.Join(scratch, filepath.Dir(name)), nil
		}
	}
	return "", fmt.Errorf("reading the rpm database of the layer: none of %s exists", strings.Join(databases, ", "))
}

// unpack unpacks files of a layer that is compressed or not.
func unpack(layer *os.File, to string, wanted map[string]hostfs.UnpackedFile) error {
	if _, err := layer.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading the layer: %w", err)
	}
	archive, err := decompress(layer)
	if err != nil {
		return fmt.Errorf("reading the layer: %w", err)
	}
	defer archive.Close()
	return hostfs.Unpack(to, archive, wanted)
}

// decompress returns the tar archive of a layer. Its beginning determines the compression, as in
// other clients: the media type is often wrong.
func decompress(layer io.Reader) (io.ReadCloser, error) {
	reader := bufio.NewReaderSize(layer, 1<<20)
	magic, err := reader.Peek(4)
	switch {
	case err != nil:
		return nil, err
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(reader)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		decoder, err := zstd.NewReader(reader)
		if err != nil {
			return nil, err
		}
		return decoder.IOReadCloser(), nil
	}
	return io.NopCloser(reader), nil
}
