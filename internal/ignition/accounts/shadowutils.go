package accounts

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// run runs a program of shadow-utils for a tree. The name of the account comes
// last; no secret may be among the arguments.
func run(ctx context.Context, tree *host.Tree, stdin []byte, program string, args ...string) error {
	if !tree.Live() {
		root, err := filepath.Abs(tree.Name()) // they take no other
		if err != nil {
			return err
		}
		args = append([]string{"--root", root}, args...)
	}
	lock, err := takeTurn(ctx, tree)
	if err != nil {
		return err
	}
	_, err = host.RunHolding(ctx, lock, stdin, program, args...)
	return errors.Join(err, endTurn(tree, lock))
}

// setHash gives a password hash by standard input: an argument could be seen by
// everybody in the list of processes.
func setHash(ctx context.Context, tree *host.Tree, program, name string, hash []byte) error {
	return run(ctx, tree, []byte(name+":"+string(hash)+"\n"), program, "--encrypted")
}

func addUser(ctx context.Context, tree *host.Tree, name string, wish account, hash []byte) error {
	if err := run(ctx, tree, nil, "useradd", append(addArgs(wish), name)...); err != nil {
		return err
	}
	if len(hash) == 0 || string(hash) == locked {
		return nil
	}
	return setHash(ctx, tree, "chpasswd", name, hash)
}

// addArgs are Ignition's, without the hash and without --create-home.
func addArgs(wish account) []string {
	var args []string
	if wish.Home != "" {
		args = append(args, "--home-dir", wish.Home)
	}
	args = append(args, "--no-create-home")
	for _, flag := range []struct {
		set  bool
		name string
	}{
		{wish.New != nil && wish.New.NoUserGroup, "--no-user-group"},
		{wish.New != nil && wish.New.System, "--system"},
		{wish.New != nil && wish.New.NoLogInit, "--no-log-init"},
	} {
		if flag.set {
			args = append(args, flag.name)
		}
	}
	return append(append(args, "--password", locked), commonArgs(wish)...)
}

// modifyArgs are empty where only the hash is wished.
func modifyArgs(wish account) []string {
	var args []string
	if wish.Home != "" {
		args = append(args, "--home", wish.Home)
	}
	return append(args, commonArgs(wish)...)
}

func commonArgs(wish account) []string {
	var args []string
	if wish.UID != nil {
		args = append(args, "--uid", strconv.Itoa(*wish.UID))
	}
	for _, option := range []struct{ name, value string }{
		{"--comment", wish.Gecos},
		{"--gid", wish.PrimaryGroup},
		{"--groups", strings.Join(wish.Groups, ",")},
		{"--shell", wish.Shell},
	} {
		if option.value != "" {
			args = append(args, option.name, option.value)
		}
	}
	return args
}

// edit changes the account files themselves, under the lock that shadow-utils
// take. Each file is replaced as a whole and keeps its owner, mode and label.
func edit(ctx context.Context, tree *host.Tree, change func(db database) error) error {
	lock, err := tree.Lock(ctx, "/etc/.pwd.lock")
	if err != nil {
		return err
	}
	defer lock.Close()
	db, err := readDatabase(tree)
	if err != nil {
		return err
	}
	old := map[string][]byte{}
	for name, table := range db {
		old[name] = table.content()
	}
	if err := change(db); err != nil {
		return err
	}
	batch := tree.NewBatch()
	defer batch.Abort()
	for _, name := range accountFiles() {
		content := db[name].content()
		if !db[name].there || bytes.Equal(content, old[name]) {
			continue
		}
		info := db[name].info
		attr := host.Attr{Mode: info.Mode, UID: info.UID, GID: info.GID, Xattrs: info.Xattrs}
		if err := batch.Stage("/etc/"+name, content, attr); err != nil {
			return err
		}
	}
	return batch.Commit()
}
