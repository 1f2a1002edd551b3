package ledger

import "testing"

// seen returns a state as Paths.Get returns it.
func seen(kind, content string, mode uint32, uid int) State {
	gid := 0
	s := State{Present: true, Type: kind, Mode: &mode, UID: &uid, GID: &gid}
	switch kind {
	case "file":
		s.Digest, s.Size = digest([]byte(content)), int64(len(content))
	case "link":
		s.Link, s.Mode = content, nil
	}
	return s
}

// The action of an undo after a completed run (done) and after an interrupted run (killed).
// The original file /x has the content "old" and mode 4755 of user 0. The desired file has
// the content "new" and mode 0644 of user 5.
func TestJudge(t *testing.T) {
	mode, uid := uint32(0o644), 5
	old := seen("file", "old", 0o4755, 0)
	wish := Change{Kind: File, Target: "/x", Want: State{Present: true, Digest: digest([]byte("new")), Mode: &mode, UID: &uid}}
	attributes := Change{Kind: File, Target: "/x", Want: State{Present: true, Mode: &mode, UID: &uid}}
	link := Change{Kind: Link, Target: "/x", Want: State{Present: true, Link: "/new"}}
	hard := Change{Kind: HardLink, Target: "/x", Want: State{Present: true, Link: "/y"}}
	dir := Change{Kind: Directory, Target: "/x", Want: State{Present: true, Mode: &mode, UID: &uid}}
	linked := old
	linked.Link = "/y"
	for name, test := range map[string]struct {
		change       Change
		before, now  State
		done, killed verdict
	}{
		"file as it was":                        {wish, old, old, nothing, nothing},
		"file as wished":                        {wish, old, seen("file", "new", 0o644, 5), restore, restore},
		"file with a stranger's content":        {wish, old, seen("file", "theirs", 0o644, 5), keep, keep},
		"file removed":                          {wish, old, State{}, keep, restore},
		"file, its place taken by a directory":  {wish, old, seen("directory", "", 0o755, 0), keep, keep},
		"file, its place taken by a link":       {wish, old, seen("link", "/theirs", 0, 0), keep, keep},
		"file with a stranger's mode":           {wish, old, seen("file", "new", 0o600, 5), keep, restore},
		"file half given its attributes":        {wish, old, seen("file", "old", 0o755, 5), restore, restore},
		"new file as wished":                    {wish, State{}, seen("file", "new", 0o644, 5), restore, restore},
		"new file, changed since":               {wish, State{}, seen("file", "theirs", 0o644, 5), keep, keep},
		"new file, gone":                        {wish, State{}, State{}, nothing, nothing},
		"empty file made":                       {attributes, State{}, seen("file", "", 0o644, 5), restore, restore},
		"empty file made, filled since":         {attributes, State{}, seen("file", "theirs", 0o644, 5), keep, keep},
		"attributes set, content changed":       {attributes, old, seen("file", "theirs", 0o644, 5), keep, keep},
		"attributes set":                        {attributes, old, seen("file", "old", 0o644, 5), restore, restore},
		"attributes half set":                   {attributes, old, seen("file", "old", 0o755, 5), restore, restore},
		"attributes a stranger's":               {attributes, old, seen("file", "old", 0o600, 0), keep, restore},
		"link as wished":                        {link, old, seen("link", "/new", 0, 0), restore, restore},
		"link to elsewhere":                     {link, old, seen("link", "/theirs", 0, 0), keep, keep},
		"link, not made yet":                    {link, seen("link", "/old", 0, 0), seen("link", "/old", 0, 0), nothing, nothing},
		"link, the old one of another user":     {link, seen("link", "/old", 0, 0), seen("link", "/old", 0, 7), keep, restore},
		"hard link made":                        {hard, old, linked, restore, restore},
		"hard link made, then another file":     {hard, old, seen("file", "theirs", 0o644, 0), keep, keep},
		"hard link not made":                    {hard, old, old, nothing, nothing},
		"directory made":                        {dir, State{}, seen("directory", "", 0o644, 5), restore, restore},
		"directory made, attributes changed":    {dir, State{}, seen("directory", "", 0o700, 7), restore, restore},
		"directory half given its attributes":   {dir, seen("directory", "", 0o755, 0), seen("directory", "", 0o755, 5), restore, restore},
		"directory, attributes a stranger's":    {dir, seen("directory", "", 0o755, 0), seen("directory", "", 0o700, 0), keep, restore},
		"directory, replaced by a file":         {dir, State{}, seen("file", "theirs", 0o644, 0), keep, keep},
		"removed":                               {Change{Kind: File, Target: "/x"}, old, State{}, restore, restore},
		"removed, and another is there":         {Change{Kind: File, Target: "/x"}, old, seen("file", "theirs", 0o644, 0), keep, keep},
		"removed, and a directory is there":     {Change{Kind: File, Target: "/x"}, old, seen("directory", "", 0o755, 0), keep, keep},
		"was not there and is not wished":       {Change{Kind: File, Target: "/x"}, State{}, seen("directory", "", 0o755, 0), nothing, nothing},
		"no path: as wished":                    {Change{Kind: Sysctl, Want: State{Present: true, Value: "1"}}, State{Present: true, Value: "0"}, State{Present: true, Value: "1"}, restore, restore},
		"no path: somebody else's or half made": {Change{Kind: Sysctl, Want: State{Present: true, Value: "1"}}, State{Present: true, Value: "0"}, State{Present: true, Value: "2"}, keep, restore},
	} {
		t.Run(name, func(t *testing.T) {
			item := Item{Change: test.change, Before: test.before, Done: true}
			if got := item.judge(test.now); got != test.done {
				t.Errorf("done: %s, want %s", got, test.done)
			}
			item.Done = false
			if got := item.judge(test.now); got != test.killed {
				t.Errorf("killed: %s, want %s", got, test.killed)
			}
		})
	}
}

// The desired state of an external change is undefined: after an interrupted run, an undo
// restores the original.
func TestJudgeOfABracket(t *testing.T) {
	before := seen("link", "/old", 0, 0)
	item := Item{Change: Change{Kind: Link, Target: "/x"}, Before: before, bracket: true}
	for _, now := range []State{{}, seen("link", "/made-by-others", 0, 0)} {
		if got := item.judge(now); got != restore {
			t.Errorf("killed, now %s: %s", now, got)
		}
	}
	item.Done, item.Want = true, seen("link", "/made-by-others", 0, 0)
	if got := item.judge(seen("link", "/changed-since", 0, 0)); got != keep {
		t.Errorf("done and changed since: %s", got)
	}
}

func TestJudgeKnowsWhatEarlierRunsMade(t *testing.T) {
	first := seen("file", "first", 0o644, 0)
	item := Item{Change: Change{Kind: File, Target: "/x", Want: seen("file", "second", 0o644, 0)}, Before: seen("file", "old", 0o644, 0)}
	for _, done := range []bool{false, true} {
		item.Done, item.earlier = done, nil
		if got := item.judge(first); got != keep {
			t.Errorf("not ours: %s", got)
		}
		item.earlier = []State{first}
		if got := item.judge(first); got != restore {
			t.Errorf("of an earlier run: %s", got)
		}
	}
	item.Want = State{} // removal requested, but the run was interrupted before it
	if got := item.judge(first); got != restore {
		t.Errorf("not removed yet: %s", got)
	}
}
