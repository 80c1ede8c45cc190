package certify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/net/html"
)

// learnOrders is the number of orders that learn begins.
const learnOrders = 2

// placeholder is a part of a Success URL that each order fills in: the ID of its session,
// or what the shop's answer to the order said, by its name.
var placeholder = regexp.MustCompile(`\{(session|told:[^{}]*)\}`)

// learn learns the Success URL from the redirects of two orders. Where they differ by a
// value that the shop's answer says, such as an order number, each order fills in its own.
func (r *run) learn(ctx context.Context) error {
	var orders [learnOrders]*order
	var addresses [learnOrders]string
	for i := range orders {
		o, err := r.order(ctx)
		if err != nil {
			return err
		}
		if err := r.tellCancel(ctx, o); err != nil {
			return err
		}
		address, err := r.redirectOf(ctx, o)
		if err != nil {
			return err
		}
		if addresses[i], err = withoutResult(address); err != nil {
			return fmt.Errorf("%w: the gateway's redirect cannot be read", ErrCannotRun)
		}
		orders[i] = o
	}
	r.target.SuccessURL = addresses[0]
	if addresses[0] == addresses[1] {
		return nil
	}
	for name, value := range orders[0].told {
		pattern := strings.ReplaceAll(addresses[0], value, "{told:"+name+"}")
		if fill(pattern, orders[1], uuid.Nil) == addresses[1] {
			r.target.SuccessURL, r.cancels = pattern, strings.HasPrefix(name, cancelPart)
			return nil
		}
	}
	r.varying = true
	return nil
}

// successOf returns the Success URL of an order, as far as it is known.
func (r *run) successOf(o *order, id uuid.UUID) string { return fill(r.target.SuccessURL, o, id) }

func fill(pattern string, o *order, id uuid.UUID) string {
	return placeholder.ReplaceAllStringFunc(pattern, func(part string) string {
		if part == sessionParam {
			return id.String()
		}
		return o.told[strings.TrimSuffix(strings.TrimPrefix(part, "{told:"), "}")]
	})
}

// told returns what the answer to an order says: its cookies, and the texts and numbers
// of its JSON, as they are written in a query.
func (v visit) told(buyer *browser, address string) map[string]string {
	said := map[string]string{}
	if u, err := url.Parse(address); err == nil {
		for _, cookie := range buyer.Cookies(u) {
			said[cookie.Name] = cookie.Value
		}
	}
	members := map[string]any{}
	in := json.NewDecoder(bytes.NewReader(v.body))
	in.UseNumber()
	_ = in.Decode(&members) // text that is not JSON says nothing
	for name, value := range members {
		switch value.(type) {
		case string, json.Number:
			said[name] = fmt.Sprint(value)
		}
	}
	for name, value := range said {
		if said[name] = url.QueryEscape(value); value == "" {
			delete(said, name)
		}
	}
	return said
}

// cancelPart begins the names of what an order's Cancel URL tells.
const cancelPart = "cancel_url "

// tellCancel adds the parts of an order's Cancel URL to what the shop told of the order.
// The hosted page shows the Cancel URL, and a shop may write the order's number into it
// as well as into the Success URL.
func (r *run) tellCancel(ctx context.Context, o *order) error {
	address, err := r.cancelOf(ctx, o)
	if err != nil {
		return err
	}
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("%w: the Cancel URL of the hosted page cannot be read", ErrCannotRun)
	}
	for name, values := range u.Query() {
		if values[0] != "" {
			o.told[cancelPart+name] = url.QueryEscape(values[0])
		}
	}
	for i, part := range strings.Split(u.EscapedPath(), "/") {
		if part != "" {
			o.told[cancelPart+strconv.Itoa(i)] = part
		}
	}
	return nil
}

// cancelOf returns the Cancel URL of an order, from the hosted page of its session unless
// the target names it; "" if the page has none.
func (r *run) cancelOf(ctx context.Context, o *order) (string, error) {
	if r.target.CancelURL != "" {
		return strings.ReplaceAll(r.target.CancelURL, sessionParam, o.session.ID.String()), nil
	}
	page, err := r.page(ctx, o)
	if err != nil {
		return "", err
	}
	for n := range page.Descendants() {
		var address, is string
		for _, a := range n.Attr {
			switch a.Key {
			case "href":
				address = a.Val
			case "data-testid":
				is = a.Val
			}
		}
		if n.Data == "a" && (is == "return" || is == "leave") {
			return address, nil
		}
	}
	return "", nil
}

// page returns the hosted page of an order's session.
func (r *run) page(ctx context.Context, o *order) (*html.Node, error) {
	body, err := r.gateway.Page(ctx, o.link)
	if err != nil {
		return nil, errors.Join(ErrCannotRun, err)
	}
	return html.Parse(bytes.NewReader(body))
}

var agePattern = regexp.MustCompile(`\b[1-9][0-9]\b`)

// askedAge returns the age in the heading of an order's hosted page, or "".
func (r *run) askedAge(ctx context.Context, o *order) (string, error) {
	page, err := r.page(ctx, o)
	if err != nil {
		return "", err
	}
	for n := range page.Descendants() {
		if n.Data != "h1" {
			continue
		}
		for text := range n.Descendants() {
			if age := agePattern.FindString(text.Data); text.Type == html.TextNode && age != "" {
				return age, nil
			}
		}
	}
	return "", nil
}

// plainCookies returns the cookies for an address that have another value than before and
// that anybody could guess: those of a few characters.
func plainCookies(buyer *browser, at *url.URL, before []*http.Cookie) (plain []*http.Cookie) {
	const guessable = 16 // characters
	for _, c := range buyer.Cookies(at) {
		if len(c.Value) < guessable && !slices.ContainsFunc(before, func(b *http.Cookie) bool {
			return b.Name == c.Name && b.Value == c.Value
		}) {
			plain = append(plain, c)
		}
	}
	return plain
}
