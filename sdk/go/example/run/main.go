// Command run starts the shop.
package main

import (
	"log"
	"net/http"
	"os"
	"time"

	"github.com/agegate/agegate/sdk/go/example"
)

func main() {
	shop, err := example.New(os.Getenv("AGEGATE_URL"), os.Getenv("AGEGATE_API_KEY"),
		os.Getenv("AGEGATE_WEBHOOK_SECRET"), os.Getenv("AGEGATE_REDIRECT_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	shop.URL = os.Getenv("SHOP_URL")
	address := "localhost:" + os.Getenv("PORT")
	server := &http.Server{Addr: address, Handler: shop.Handler(), ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	log.Fatal(server.ListenAndServe())
}
