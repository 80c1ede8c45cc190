package door

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"
)

// rawStatus sends a request line as it stands, and returns the answer's status.
func rawStatus(t *testing.T, address, target string) int {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: Mozilla/5.0\r\n"+
		"Accept: text/html\r\nConnection: close\r\n\r\n",
		target, address)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	defer res.Body.Close()
	return res.StatusCode
}
