// Command site is a sample site, which knows nothing about ages, on PORT.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><title>A forum</title><h1>A forum for adults</h1>
<p>You are in. Delete this site's cookies to stand before the door again, or read the <a href="/about">free page</a>.</p>`)
		if r.URL.Path == "/about" {
			fmt.Fprint(w, `<p>This page needs no pass.</p>`)
		}
	})
	server := &http.Server{Addr: "localhost:" + os.Getenv("PORT"), ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	log.Fatal(server.ListenAndServe())
}
