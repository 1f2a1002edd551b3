// SPDX-License-Identifier: Apache-2.0

package hostfs

import "time"

// NewestChange returns the time of the last change to the given files, and to
// directories with everything in them; zero if none of them exists. It uses the
// change time, so that an older file that was renamed into place counts as new.
func (t *Tree) NewestChange(paths ...string) (time.Time, error) {
	var newest time.Time
	for _, p := range paths {
		err := t.WalkWith(p, func(_ string, info Info) error {
			if info.Changed.After(newest) {
				newest = info.Changed
			}
			return nil
		})
		if err != nil {
			return newest, err
		}
	}
	return newest, nil
}
