package certify

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"agegate/internal/rules/webhook"
)

// damage is what becomes of a value when something is taken from it.
type damage struct{ name, value string }

// damages returns every damage to a value, for each field of each format; with cased,
// also the value in the other case of letters.
func damages(value string, cased bool) []damage {
	n := len(value)
	all := []damage{
		{"empty", ""}, {"its first byte", value[:min(n, 1)]}, {"its first half", value[:n/2]},
		{"its last half", value[n/2:]}, {"without its last byte", value[:max(n-1, 0)]}, {"twice", value + value},
	}
	if other := otherCase(value); cased && other != value {
		all = append(all, damage{"in the other case", other})
	}
	return all
}

const wholeFix = "Compare whole values, and never with startsWith, includes or LIKE: an empty text, and every " +
	"beginning, is in all of them."

var forgedRedirectCases = []testCase{
	{
		name: "redirect.cut-token", passes: true,
		title: "A token of which a part is empty, cut, doubled or in another case is refused",
		fix:   wholeFix + " " + compareFix,
		act: func(t *trial) {
			var changes []query
			for i, d := range damages("00", false) {
				cut := func(part string) string { return damages(part, false)[i].value }
				changes = append(changes, changedToken("token "+d.name, cut),
					changedToken("expiry "+d.name, func(token string) string {
						expires, mac, _ := strings.Cut(token, ".")
						return cut(expires) + "." + mac
					}),
					changedToken("MAC "+d.name, func(token string) string {
						expires, mac, _ := strings.Cut(token, ".")
						return expires + "." + cut(mac)
					}))
			}
			changes = append(changes, changedToken("MAC missing, with the dot", func(token string) string {
				expires, _, _ := strings.Cut(token, ".")
				return expires
			}))
			t.visitChanged(t.goodURL, changes...)
		},
	},
	{
		name: "redirect.cut-value", passes: true,
		title: "A redirect whose session, status or is_adult is empty, cut or doubled is refused", fix: wholeFix,
		act: func(t *trial) {
			var changes []query
			for _, name := range resultParams[1:] {
				for i, d := range damages("00", false) {
					changes = append(changes, changedParam(name, name+" "+d.name, func(value string) string {
						return damages(value, false)[i].value
					}))
				}
			}
			t.visitChanged(t.goodURL, changes...)
		},
	},
	{
		name: "redirect.unsigned", title: "A token that anybody can write, with no MAC or with a piece of one, is refused",
		fix: wholeFix + " " + compareFix,
		act: func(t *trial) {
			own := t.order()
			later := strconv.FormatInt(t.Now().Add(tokenTTL).Unix(), 10)
			tokens := []string{"", ".", later, later + ".", later + ".A", later + ".undefined", later + ".null", "." + later,
				later + ".." + later}
			for _, d := range damages(t.token(t.foreignKey, pass(own)), false) {
				tokens = append(tokens, d.value)
			}
			for _, token := range tokens {
				t.visitAs(own, "", pass(own), token)
			}
		},
	},
}

var forgedWebhookCases = []testCase{
	{
		name: "webhook.cut-signature", title: "A delivery whose signature is empty, cut or doubled is refused", fix: wholeFix,
		act: func(t *trial) {
			t.sendDamaged(headerSignature, func(whole string) []damage {
				mac := strings.TrimPrefix(whole, "v1,")
				all := append(prefixed("v1,", damages(mac, false)), damages(whole, false)...)
				return append(all, damage{"v1 alone", "v1"}, damage{"a comma alone", ","}, damage{"a space", " "},
					damage{"cut, behind a wrong one", "v1,AAAA v1," + mac[:4]})
			})
		},
	},
	{
		name: "webhook.foreign-scheme", title: "A delivery that has only signatures of unknown schemes is refused",
		fix: "Ignore signatures that do not begin with \"v1,\": they prove nothing. Where none is left, refuse.",
		act: func(t *trial) {
			t.sendDamaged(headerSignature, func(string) []damage {
				return []damage{{"v2", "v2,x"}, {"v1a", "v1a,bm90IG9mIHRoaXMgc2NoZW1l"}, {"v0", "v0,"}, {"none", "x"},
					{"several", "v2,x v3,y"}}
			})
		},
	},
	{
		name: "webhook.cut-header", orders: 2,
		title: "A delivery whose webhook-id or webhook-timestamp is empty, cut or doubled is refused",
		fix:   "Verify the signature over webhook-id, webhook-timestamp and the body, each whole and as received.",
		act: func(t *trial) {
			for _, name := range []string{headerID, headerTimestamp} {
				t.sendDamaged(name, func(whole string) []damage { return damages(whole, true) })
			}
		},
	},
	{
		name: "webhook.cut-body", title: "A delivery whose body is not all that was signed, or more, is refused",
		fix: "Verify the signature over the whole body, with every byte that arrived, before anything reads it.",
		act: func(t *trial) {
			d := t.good()
			d.signed = d.body
			whole := string(d.body)
			for _, cut := range append(damages(whole, true), damage{"with a member behind it",
				strings.TrimSuffix(whole, "}") + `,"x":1}`}) {
				d.what, d.body = cut.name, []byte(cut.value)
				t.sendAndTell(d, refuse)
			}
		},
	},
	{
		name:  "webhook.cut-member",
		title: "A signed delivery releases nothing whose session_id, status or is_adult is missing, empty, cut or doubled",
		fix: "Require the session_id of the order, the status VERIFIED and is_adult true, each exactly: a JSON true, " +
			"neither a text nor a default.",
		act: (*trial).sendCutMembers,
	},
}

// prefixed returns values behind a part that stays.
func prefixed(part string, all []damage) []damage {
	for i := range all {
		all[i].value = part + all[i].value
	}
	return all
}

// sendDamaged sends one event with each damage to a header, which makes it a forgery.
func (t *trial) sendDamaged(header string, of func(good string) []damage) {
	d := t.good()
	for _, cut := range of(d.header().Get(header)) {
		d.what, d.alter = header+" "+cut.name, func(h http.Header) { h.Set(header, cut.value) }
		t.sendAndTell(d, refuse)
	}
}

// sendAndTell sends one of several deliveries that must release nothing.
func (t *trial) sendAndTell(d *delivery, want expect) {
	t.send(d, want)
	t.tell(d.to, d.what)
}

// sendCutMembers sends signed events of one order that the gateway never sends.
func (t *trial) sendCutMembers() {
	good := t.good()
	type cut struct {
		member, what string
		value        any // nil: the member is missing
	}
	null := json.RawMessage("null")
	cuts := []cut{{"session_id", "missing", nil}, {"status", "missing", nil}, {"is_adult", "missing", nil},
		{"session_id", "null", null}, {"status", "null", null}, {"status", "true", true}, {"is_adult", "null", null},
		{"is_adult", "false as a text", "false"}, {"is_adult", "empty", ""}, {"is_adult", "0", 0},
		{"is_adult", "0 as a text", "0"}, {"status", "another", "UNVERIFIED"}, {"status", "the session's", "PASSED"}}
	for _, d := range damages(good.to.id.String(), false) {
		cuts = append(cuts, cut{"session_id", d.name, d.value})
	}
	for _, d := range damages(string(webhook.ResultVerified), true) {
		cuts = append(cuts, cut{"status", d.name, d.value})
	}
	for _, c := range cuts {
		var members map[string]any
		check(json.Unmarshal(good.body, &members))
		if members[c.member] = c.value; c.value == nil {
			delete(members, c.member)
		}
		d := *good
		d.what, d.id, d.at = c.member+" "+c.what, newEventID(), t.Now()
		d.body = must(json.Marshal(members))
		t.sendAndTell(&d, either)
	}
}
