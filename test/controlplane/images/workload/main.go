// SPDX-License-Identifier: Apache-2.0

// Command workload is the workload that the tests run on a node: a web server that also prints a
// line every few seconds.
//
// Usage: workload [serve] | workload get URL
package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "workload:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 0, len(args) == 1 && args[0] == "serve":
		return serve()
	case len(args) == 2 && args[0] == "get":
		return get(args[1])
	}
	return errors.New("usage: workload [serve] | workload get URL")
}

func serve() error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	fmt.Println("hello from pod", host)
	go func() {
		for now := range time.Tick(5 * time.Second) {
			fmt.Println("still here", now.UTC().Format(time.RFC3339))
		}
	}()
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "hello from pod", host)
	})
	server := &http.Server{Addr: ":8080", ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

// get prints the response of a URL. Tests run it with kubectl exec to check a pod's network.
func get(url string) error {
	client := &http.Client{Timeout: 10 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP status %s", response.Status)
	}
	return nil
}
