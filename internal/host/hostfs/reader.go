// SPDX-License-Identifier: Apache-2.0

package hostfs

import "os"

// Reader reads a file tree. *Tree implements it; code that has only a Reader cannot change the tree.
type Reader interface {
	Name() string
	IsLive() bool
	Lstat(p string) (Info, error)
	Exists(p string) (bool, error)
	ReadFile(p string) ([]byte, Info, error)
	ReadDir(p string) ([]string, error)
	OpenDir(p string) (*os.File, error)
	MissingDirs(p string) ([]string, error)
	Walk(p string, visit func(p string, info Info) error) error
	Mounts(p string) ([]string, error)
	RealPath(p string) (string, error)
	GuardLinks(p string) *LinkGuard
}
