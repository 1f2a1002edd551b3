// SPDX-License-Identifier: Apache-2.0

package dnf

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// PackageFile is a file of a package in an rpm database.
type PackageFile struct {
	Package string `json:"package"` // name of the package
	Path    string `json:"path"`
	Mode    uint32 `json:"mode"`              // st_mode: type and permissions
	Digest  string `json:"digest,omitempty"`  // SHA-256, hexadecimal; "" if it is no regular file
	Link    string `json:"link,omitempty"`    // target of a symbolic link
	Ghost   bool   `json:"ghost,omitempty"`   // it belongs to the package but is not in it
	Doc     bool   `json:"doc,omitempty"`     // documentation
	License bool   `json:"license,omitempty"` // text of a license
}

// Flags of a file (rpmfileAttrs).
const (
	flagDoc     = 1 << 1
	flagGhost   = 1 << 6
	flagLicense = 1 << 7

	sha256Algorithm = "8" // PGPHASHALGO_SHA256
)

// PackageFiles returns the files of packages in the rpm database in a directory. It fails if a package
// is not in the database, or if its digests are not SHA-256.
func PackageFiles(ctx context.Context, database string, names ...string) ([]PackageFile, error) {
	const fields = `[%{=NAME}\t%{=FILEDIGESTALGO}\t%{FILENAMES}\t%{FILEMODES}\t` +
		`%{FILEDIGESTS}\t%{FILELINKTOS}\t%{FILEFLAGS}\n]`
	out, err := command.Run(ctx, "rpm", append([]string{"--dbpath", database, "-q", "--queryformat", fields}, names...)...)
	if err != nil {
		return nil, fmt.Errorf("listing the files of %s: %w", strings.Join(names, ", "), err)
	}
	var files []PackageFile
	for line := range strings.Lines(out) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(columns) != 7 {
			return nil, fmt.Errorf("listing the files of %s: unexpected line %q", strings.Join(names, ", "), line)
		}
		mode, errMode := strconv.ParseUint(columns[3], 10, 32)
		flags, errFlags := strconv.ParseUint(columns[6], 10, 32)
		if errMode != nil || errFlags != nil || columns[1] != sha256Algorithm {
			return nil, fmt.Errorf("listing the files of %s: unexpected line %q", strings.Join(names, ", "), line)
		}
		files = append(files, PackageFile{
			Package: columns[0],
			Path:    columns[2],
			Mode:    uint32(mode),
			Digest:  columns[4],
			Link:    columns[5],
			Ghost:   flags&flagGhost != 0,
			Doc:     flags&flagDoc != 0,
			License: flags&flagLicense != 0,
		})
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("listing the files of %s: the packages have none", strings.Join(names, ", "))
	}
	return files, nil
}

// Owners returns the packages to which files of the running host belong, by path. Files without a
// package are missing in the result. All files must exist.
func Owners(ctx context.Context, paths []string) (map[string]string, error) {
	owners := map[string]string{}
	for _, path := range paths {
		out, err := command.Run(ctx, "rpm", "-qf", "--queryformat", `%{NAME}`, "--", path)
		var failed *command.Error
		switch {
		case err == nil:
			owners[path] = out
		case !errors.As(err, &failed): // rpm has run, and no package owns it
			return nil, fmt.Errorf("finding the package of %s: %w", path, err)
		}
	}
	return owners, nil
}
