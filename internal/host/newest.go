package host

import "time"

// NewestChange tells when the files, or the directories with all that is in
// them, were changed last; zero when none of them exists. By the change time,
// so that an older file that was renamed into place counts as new.
func (t *Tree) NewestChange(paths ...string) (time.Time, error) {
	var newest time.Time
	see := func(_ string, info Info) error {
		if info.Changed.After(newest) {
			newest = info.Changed
		}
		return nil
	}
	for _, p := range paths {
		info, err := t.Lstat(p)
		if err != nil {
			return newest, err
		}
		_ = see(p, info) // gives no error
		if info.Type == Directory {
			if err := t.Walk(p, see); err != nil {
				return newest, err
			}
		}
	}
	return newest, nil
}
